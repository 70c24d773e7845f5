import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import { saveText } from './save-file.ts'
import styles from './cut-text.module.css'

const firstCharacters = 4_000
const moreCharacters = 50_000

interface CutTextProps {
  text: string
  /** Name of the file when the text is downloaded. */
  fileName?: string
  /** Label of the text for screen readers. */
  label: string
}

/** Preformatted text of any length: its beginning, more of it on demand, and the whole as a download. */
export function CutText({ text, fileName = 'text.txt', label }: CutTextProps) {
  const [limit, setLimit] = useState(firstCharacters)
  const isCut = text.length > limit
  const rest = text.length - limit
  return (
    <div>
      <pre className={styles.text} tabIndex={0} aria-label={label} role="region">
        {isCut ? text.slice(0, limit) : text}
      </pre>
      {(isCut || limit > firstCharacters) && (
        <Group gap="xs" mt={6}>
          {isCut && (
            <Button size="compact-xs" variant="default" onClick={() => setLimit(limit + moreCharacters)}>
              Show more ({rest.toLocaleString('en')} characters)
            </Button>
          )}
          <Button size="compact-xs" variant="default" onClick={() => saveText(text, fileName)}>
            Download
          </Button>
        </Group>
      )}
    </div>
  )
}
