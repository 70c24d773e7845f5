import { ChevronDownIcon, ChevronRightIcon, LightBulbIcon } from '@primer/octicons-react'
import { useId, useState } from 'react'
import { CutText } from '../../parts/cut-text.tsx'
import type { ThoughtPart } from '../live/answer.ts'
import styles from './step-card.module.css'

const labels = { reasoning: ['Thinking', 'Thought'], planning: ['Planning', 'Plan'] } as const

/** A folded thought or plan of the model. */
export function Thought({ part, isThinking }: { part: ThoughtPart; isThinking: boolean }) {
  const [isOpen, setIsOpen] = useState(false)
  const id = useId()
  const Arrow = isOpen ? ChevronDownIcon : ChevronRightIcon
  const [now, past] = labels[part.kind]
  return (
    <div className={styles.thought}>
      <button type="button" className={styles.summary} aria-expanded={isOpen} aria-controls={id} onClick={() => setIsOpen(!isOpen)}>
        <LightBulbIcon size={14} className={styles.icon} />
        <span>{isThinking ? `${now}…` : past}</span>
        {!isOpen && <span className={styles.hint}>{lastLine(part.text)}</span>}
        <Arrow size={14} className={styles.arrow} />
      </button>
      {isOpen && (
        <div id={id} className={styles.details}>
          <CutText text={part.text} label={past} />
        </div>
      )}
    </div>
  )
}

function lastLine(text: string): string {
  return text.slice(-400).trimEnd().split('\n').at(-1) ?? ''
}
