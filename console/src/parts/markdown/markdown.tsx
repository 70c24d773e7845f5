import { lazy, Suspense, type ComponentType } from 'react'
import type { RichTextProps } from './rich-text.tsx'
import styles from './markdown.module.css'

const RichText = lazy(async (): Promise<{ default: ComponentType<RichTextProps> }> => ({
  default: (await import('./rich-text.tsx')).RichText,
}))

/**
 * Markdown of a model. HTML is shown as text, links open in a new page without a referrer, pictures are links. While the text
 * grows, only the last block is parsed again. The parser is a separate chunk; before that chunk is loaded, the plain text is shown.
 */
export function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<div className={styles.raw}>{text}</div>}>
      <RichText text={text} />
    </Suspense>
  )
}
