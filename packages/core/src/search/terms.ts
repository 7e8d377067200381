/** Terms of one question; what is more is left out. */
const TERMS_MAX = 8;

/** What somebody looks for: words, and phrases in double quotes, each once. Empty: nothing can be looked for. */
export function searchTerms(question: string): string[] {
  const found = [...question.matchAll(/"([^"]*)"|[^\s"]+/gu)].map(([word, phrase]) => (phrase ?? word).trim());
  return [...new Set(found.filter((term) => term !== '').map((term) => term.toLowerCase()))].slice(0, TERMS_MAX);
}
