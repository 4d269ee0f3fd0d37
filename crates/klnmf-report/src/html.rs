//! Text and templates as HTML.

use minijinja::{Environment, Value};

/// Escapes the characters that have a meaning in XML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Renders a template with its values. In a template whose name ends in `.html`, values are escaped.
///
/// # Errors
/// If the template is not valid, or uses what the values do not have.
pub fn render(name: &str, template: &str, values: Value) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.add_template(name, template)?;
    environment.get_template(name)?.render(values)
}
