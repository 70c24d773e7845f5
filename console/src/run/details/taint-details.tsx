import { Button } from '@mantine/core'
import type { Span } from '../queries.ts'
import type { TaintedSpan } from '../timeline/taint.ts'
import { Fact } from './fact.tsx'
import styles from './details.module.css'

const decisions = { approve: 'held until a person decides', refuse: 'refused' } as const

interface TaintDetailsProps {
  tainted: TaintedSpan
  /** Opens the row of a span. */
  show: (span: Span) => void
}

/** The calls that had returned text of strangers before a call that changes something or carries text outside. */
export function TaintDetails({ tainted: { span, sources, elsewhere }, show }: TaintDetailsProps) {
  const { containment } = span.attributes
  return (
    <dl className={styles.facts}>
      <Fact name="After text of strangers from">
        {sources.map((source) => (
          <Button key={source.id} size="compact-xs" variant="default" className={styles.source} onClick={() => show(source)}>
            {source.name.slice(0, 200)}
          </Button>
        ))}
        {(elsewhere > 0 || sources.length === 0) && 'an earlier answer, a summary, a memory or a file'}
      </Fact>
      {containment && <Fact name="Containment">{decisions[containment]}</Fact>}
    </dl>
  )
}
