const PLACE = /\{\{\s*([^{}]*?)\s*\}\}/g;

/**
 * Fills in a template from a JSON value: `{{a.b.0}}` is what stands there: text as it is, nothing for what is absent or
 * null, JSON for objects and lists. Values are never read as templates again.
 */
export function renderTemplate(template: string, value: unknown): string {
  return template.replace(PLACE, (_place, path: string) => textOf(valueAt(value, path.split('.'))));
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = Reflect.get(at, name);
  }
  return at;
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
