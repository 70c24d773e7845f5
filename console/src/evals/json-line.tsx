import { Button } from '@mantine/core'
import { useState } from 'react'
import styles from './evals.module.css'

const firstCharacters = 300

/** A value in one paragraph of code. A long value opens. */
export function JsonLine({ value }: { value: unknown }) {
  return <CutLine text={JSON.stringify(value) ?? ''} isCode />
}

/** The beginning of a text, which opens to the whole text. */
export function CutLine({ text, isCode = false }: { text: string; isCode?: boolean }) {
  const [isOpen, setOpen] = useState(false)
  const isLong = text.length > firstCharacters
  const Tag = isCode ? 'code' : 'span'
  return (
    <>
      <Tag className={isCode ? styles.code : styles.plain}>{isLong && !isOpen ? `${text.slice(0, firstCharacters)}…` : text}</Tag>
      {isLong && (
        <Button size="compact-xs" variant="subtle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : 'Show all'}
        </Button>
      )}
    </>
  )
}
