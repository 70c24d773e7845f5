import type { Source } from '../live/answer.ts'
import styles from './sources.module.css'

/** The web pages that an answer rests on. */
export function Sources({ sources }: { sources: readonly Source[] }) {
  return (
    <ol className={styles.sources} aria-label="Sources">
      {sources.map(({ url, title }) => (
        <li key={url}>
          <a href={url} target="_blank" rel="noreferrer noopener" title={url}>
            {title}
          </a>
        </li>
      ))}
    </ol>
  )
}
