import { ImageIcon, LinkExternalIcon } from '@primer/octicons-react'
import type { Components } from 'react-markdown'
import { CodeBlock } from './code-block.tsx'
import styles from './markdown.module.css'

const protocols = new Set(['http:', 'https:', 'mailto:'])

/** The address of a link, or an empty text for anything that is not absolute http, https or mailto. */
export function toSafeAddress(address: string): string {
  return URL.canParse(address) && protocols.has(new URL(address).protocol) ? address : ''
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : ''
}

/** Elements of Markdown with an own rendering. */
export const components: Components = {
  a: ({ href, children }) =>
    href ? (
      <a href={href} target="_blank" rel="noreferrer noopener">
        {children}
      </a>
    ) : (
      <span>{children}</span>
    ),
  // The content security policy lets no picture of another host load: the reader decides to open it.
  img: ({ src, alt }) =>
    typeof src === 'string' && src !== '' ? (
      <a className={styles.picture} href={src} target="_blank" rel="noreferrer noopener">
        <ImageIcon /> {alt || 'Picture'} <span className={styles.host}>{hostOf(src)}</span> <LinkExternalIcon size={12} />
      </a>
    ) : (
      <span>{alt}</span>
    ),
  table: ({ children }) => (
    <div className={styles.table} role="region" aria-label="Table" tabIndex={0}>
      <table>{children}</table>
    </div>
  ),
  pre: ({ node, children }) => {
    const code = node?.children[0]
    const text = code?.type === 'element' && code.children[0]?.type === 'text' ? code.children[0].value : undefined
    if (text === undefined || code?.type !== 'element') return <pre>{children}</pre>
    const [name] = Array.isArray(code.properties.className) ? code.properties.className : []
    const language = typeof name === 'string' ? name.replace(/^language-/, '') : ''
    return <CodeBlock code={text.trimEnd()} language={language} />
  },
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h4>{children}</h4>,
  h3: ({ children }) => <h5>{children}</h5>,
  h4: ({ children }) => <h6>{children}</h6>,
  h5: ({ children }) => <h6>{children}</h6>,
}
