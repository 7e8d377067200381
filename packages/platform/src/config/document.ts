import type { ConfigOption, ConfigTable } from './option.ts';

/** The tables as Markdown, for `docs/configuration.md`. */
export function documentConfig(tables: readonly ConfigTable<Record<string, ConfigOption<unknown>>>[]): string {
  return tables.map(section).join('\n');
}

function section(table: ConfigTable<Record<string, ConfigOption<unknown>>>): string {
  const rows = Object.values(table.options).map(row);
  return [`## ${table.title}`, '', '| variable | value | default | meaning |', '|---|---|---|---|', ...rows, ''].join(
    '\n',
  );
}

function row(option: ConfigOption<unknown>): string {
  const name = option.secret ? `\`${option.env}\` or \`…_FILE\`` : `\`${option.env}\``;
  const unit = option.unit === null ? '' : `, ${option.unit}`;
  return `| ${name} | ${cell(option.kind + unit)} | ${fallback(option)} | ${cell(option.help)} |`;
}

function fallback(option: ConfigOption<unknown>): string {
  if (option.fallback === null) return option.required ? '**required**' : 'unset';
  return option.fallback === '' ? 'empty' : `\`${option.fallback}\``;
}

function cell(words: string): string {
  return words.replaceAll('|', '\\|');
}
