const NAME_LENGTH_MAX = 120;
const EXTENSION_LENGTH_MAX = 16;

/** Controls, and characters that turn the reading order round: a name must not show another ending than it has. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}]/gu;
/** Not in names of files on one system or another. */
const SPECIAL = /[<>:"|?*]/g;

/**
 * The name of a file as everybody may show and save it: its last part when it is a path, without what no name should
 * hold, at most 120 characters with the ending kept. `file` when nothing is left.
 */
export function cleanFileName(given: string): string {
  const last = given.split(/[/\\]/).at(-1) ?? '';
  const name = last
    .replaceAll(UNSEEN, '')
    .replaceAll(SPECIAL, '_')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/^[. ]+|[. ]+$/g, '');
  return name === '' ? 'file' : shortened(name);
}

function shortened(name: string): string {
  if (name.length <= NAME_LENGTH_MAX) return name;
  const dot = name.lastIndexOf('.');
  const ending = dot > 0 && name.length - dot <= EXTENSION_LENGTH_MAX ? name.slice(dot) : '';
  return (
    name
      .slice(0, NAME_LENGTH_MAX - ending.length)
      .toWellFormed()
      .replace(/\ufffd$/, '') + ending
  );
}
