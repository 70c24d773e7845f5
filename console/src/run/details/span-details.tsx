import { Button, Group, Loader } from '@mantine/core'
import { useState } from 'react'
import { messageOf } from '../../api/errors.ts'
import { Timestamp } from '../../parts/timestamp.tsx'
import { useWholeSpan, type RunKey, type Span } from '../queries.ts'
import type { TaintedSpan } from '../timeline/taint.ts'
import { ApprovalDetails, WaitDetails } from './wait-details.tsx'
import { ModelDetails } from './model-details.tsx'
import { RefusalDetails } from './refusal-details.tsx'
import { TaintDetails } from './taint-details.tsx'
import { ToolDetails } from './tool-details.tsx'
import styles from './details.module.css'

interface SpanDetailsProps {
  run: RunKey
  span: Span
  /** Present for a call after text of strangers. */
  tainted: TaintedSpan | undefined
  /** Opens the row of another span. */
  show: (span: Span) => void
}

/** Details of a span, below the row. Long values and the messages sent to a model are loaded on demand. */
export function SpanDetails({ run, span, tainted, show }: SpanDetailsProps) {
  const [isWhole, setWhole] = useState(false)
  const whole = useWholeSpan(run, span.id, isWhole)
  const details = whole.data ?? span
  const { error, truncated } = details.attributes
  return (
    <div className={styles.details}>
      {error && <p className={styles.error}>{error}</p>}
      {tainted && <TaintDetails tainted={tainted} show={show} />}
      <SpanFacts span={details} />
      <Group gap="sm" className={styles.foot}>
        <span>
          Started <Timestamp at={span.started_at} isExact />
        </span>
        {(truncated || (span.kind === 'model' && !details.messages)) && (
          <Button size="compact-xs" variant="default" onClick={() => setWhole(true)} disabled={whole.isFetching}>
            {span.kind === 'model' ? 'Show what the model was sent' : 'Show whole values'}
          </Button>
        )}
        {whole.isFetching && <Loader size={14} />}
        {whole.error && <span role="alert">{messageOf(whole.error)}</span>}
      </Group>
    </div>
  )
}

function SpanFacts({ span }: { span: Span }) {
  switch (span.kind) {
    case 'model':
      return <ModelDetails span={span} />
    case 'tool':
    case 'sub_agent':
      return <ToolDetails span={span} />
    case 'approval':
      return <ApprovalDetails span={span} />
    case 'budget':
      return <RefusalDetails span={span} />
    case 'wait':
    case 'move':
      return <WaitDetails span={span} />
    case 'message':
      return <p className={styles.message}>{span.attributes.message}</p>
    default:
      return null
  }
}
