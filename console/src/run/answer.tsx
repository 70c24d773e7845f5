import { Button } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import { CutText } from '../parts/cut-text.tsx'
import type { Run } from './queries.ts'
import styles from './run.module.css'

const Markdown = lazy(async () => ({ default: (await import('../parts/markdown/markdown.tsx')).Markdown }))

/** A longer answer is folded to its beginning. */
const foldedCharacters = 900

/** What was asked, and what the run answered or why it failed. */
export function Answer({ run: { outcome, error, status }, question }: { run: Run; question: string | undefined }) {
  const answer = outcome?.output ?? ''
  return (
    <div className={styles.dialogue}>
      {question !== undefined && (
        <section aria-label="Question" className={styles.question}>
          <CutText text={question} label="Question" />
        </section>
      )}
      {error && (
        <section className={styles.error} aria-label="Error">
          <strong>{error.details?.error_type ?? 'Error'}</strong> {error.body}
        </section>
      )}
      {answer !== '' && <AnswerText text={answer} />}
      {answer === '' && !error && status === 'success' && <p className={styles.quiet}>The answer is empty.</p>}
    </div>
  )
}

function AnswerText({ text }: { text: string }) {
  const [isFolded, setFolded] = useState(text.length > foldedCharacters)
  return (
    <section aria-label="Answer">
      <Suspense fallback={<CutText text={text} label="Answer" />}>
        <Markdown text={isFolded ? `${text.slice(0, foldedCharacters)}…` : text} />
      </Suspense>
      {isFolded && (
        <Button size="compact-xs" variant="default" onClick={() => setFolded(false)}>
          Show the whole answer
        </Button>
      )}
    </section>
  )
}
