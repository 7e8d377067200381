import type { ComponentProps } from 'react';
import Markdown, { type Options } from 'react-markdown';
import rehypeSanitize, { defaultSchema } from 'rehype-sanitize';
import remarkGfm from 'remark-gfm';

/** Nothing is loaded from anywhere because a text says so: a picture becomes a link to it. */
const schema = { ...defaultSchema, tagNames: defaultSchema.tagNames?.filter((name) => name !== 'input') };

const components: Options['components'] = {
  a: ({ href, children }) => <Link href={href}>{children}</Link>,
  img: ({ src, alt }) => <Link href={typeof src === 'string' ? src : undefined}>{alt || 'picture'}</Link>,
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reached with the keyboard
    <section className="wide" tabIndex={0} aria-label="Table">
      <table>{children}</table>
    </section>
  ),
  pre: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reached with the keyboard
    <pre tabIndex={0}>{children}</pre>
  ),
};

/** Markdown of somebody else: no HTML, no scripts, no addresses but http, https, mailto. */
export function SafeMarkdown({ text }: { readonly text: string }) {
  return (
    <div className="markdown">
      <Markdown remarkPlugins={[remarkGfm]} rehypePlugins={[[rehypeSanitize, schema]]} components={components}>
        {text}
      </Markdown>
    </div>
  );
}

function Link({ href, children }: Pick<ComponentProps<'a'>, 'href' | 'children'>) {
  const isOutside = href !== undefined && /^(https?|mailto):/i.test(href);
  if (!isOutside) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}
