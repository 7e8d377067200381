const PLACE = /\{\{\s*([^{}]*?)\s*\}\}/g;

/**
 * Fills in a template from a JSON value: `{{a.b.0}}` is what stands there: text as it is, nothing for what is absent or
 * null, JSON for objects and lists. Values are never read as templates again. Once they are longer than `lengthMax`
 * together, no more are filled in: the text is too long as it is.
 * @throws RangeError when a value is nested too deeply to be written as JSON
 */
export function renderTemplate(template: string, value: unknown, lengthMax: number): string {
  let length = 0;
  return template.replace(PLACE, (_place, path: string) => {
    const text = length > lengthMax ? '' : textOf(valueAt(value, path.split('.')));
    length += text.length;
    return text;
  });
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
