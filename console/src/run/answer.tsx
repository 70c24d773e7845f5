import { Button } from '@mantine/core'
import { useState, type ReactNode } from 'react'
import { Markdown } from '../parts/markdown/markdown.tsx'
import type { Run } from './queries.ts'
import styles from './run.module.css'

/** A text with more characters or lines than fit above the timeline is folded. */
const foldedCharacters = 500
const foldedLines = 5

const isLong = (text: string): boolean => text.length > foldedCharacters || text.split('\n', foldedLines + 1).length > foldedLines

/** The question, and the answer or the error of the run. */
export function Answer({ run: { outcome, error, status }, question }: { run: Run; question: string | undefined }) {
  const answer = outcome?.output ?? ''
  return (
    <div className={styles.dialogue}>
      {question !== undefined && (
        <section aria-label="Question" className={styles.question}>
          <Foldable isLong={isLong(question)}>
            <p className={styles.plain}>{question}</p>
          </Foldable>
        </section>
      )}
      {error && (
        <section className={styles.error} aria-label="Error">
          <strong>{error.details?.error_type ?? 'Error'}</strong> {error.body}
        </section>
      )}
      {answer !== '' && (
        <section aria-label="Answer">
          <Foldable isLong={isLong(answer)}>
            <Markdown text={answer} />
          </Foldable>
        </section>
      )}
      {answer === '' && !error && status === 'success' && <p className={styles.quiet}>The answer is empty.</p>}
    </div>
  )
}

function Foldable({ isLong, children }: { isLong: boolean; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  if (!isLong) return children
  return (
    <>
      <div className={isOpen ? undefined : styles.folded}>{children}</div>
      <Button size="compact-xs" variant="default" mt={6} onClick={() => setOpen(!isOpen)} aria-expanded={isOpen}>
        {isOpen ? 'Show less' : 'Show all'}
      </Button>
    </>
  )
}
