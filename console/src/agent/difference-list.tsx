import { useState } from 'react'
import { Button } from '@mantine/core'
import type { Difference } from './difference.ts'
import { compareLines } from './text-lines.ts'
import styles from './agent.module.css'

const firstCount = 50

/** Fields with their values before and after. */
export function DifferenceList({ differences, label }: { differences: readonly Difference[]; label: string }) {
  const [count, setCount] = useState(firstCount)
  return (
    <>
      <ul className={styles.differences} aria-label={label}>
        {differences.slice(0, count).map((difference, index) => (
          <li key={`${index} ${difference.path}`} className={styles.difference}>
            <span className={styles.path}>{difference.path || 'The whole text'}</span>
            <Values difference={difference} />
          </li>
        ))}
      </ul>
      {differences.length > count && (
        <Button size="compact-sm" variant="default" mt={8} onClick={() => setCount(count + firstCount)}>
          Show more ({differences.length - count})
        </Button>
      )}
    </>
  )
}

function Values({ difference: { before, after } }: { difference: Difference }) {
  if (before?.includes('\n') && after !== undefined) return <Lines before={before} after={after} />
  if (before !== undefined && after?.includes('\n')) return <Lines before={before} after={after} />
  return (
    <>
      {before !== undefined && <Value kind="removed" text={before} />}
      {after === undefined ? <span className={styles.quiet}>removed</span> : <Value kind="added" text={after} />}
    </>
  )
}

function Lines({ before, after }: { before: string; after: string }) {
  return (
    <div className={styles.value}>
      {compareLines(before, after).map(({ kind, text }, index) => (
        <Line key={index} kind={kind} text={text} />
      ))}
    </div>
  )
}

function Value({ kind, text }: { kind: 'removed' | 'added'; text: string }) {
  return (
    <div className={styles.value}>
      <Line kind={kind} text={text} />
    </div>
  )
}

const maxCharacters = 4_000
const marks = { removed: '−', added: '+', same: ' ', skipped: '⋯' }
const spoken = { removed: 'Before:', added: 'After:', same: '', skipped: '' }

function Line({ kind, text }: { kind: keyof typeof marks; text: string }) {
  return (
    <div className={styles.line} data-kind={kind}>
      <span aria-hidden="true" className={styles.mark}>
        {marks[kind]}
      </span>
      <span className={styles.lineText}>
        {spoken[kind] && <span className="visually-hidden">{spoken[kind]} </span>}
        {text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text}
      </span>
    </div>
  )
}
