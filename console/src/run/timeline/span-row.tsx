import {
  AlertIcon,
  ArrowSwitchIcon,
  ChevronDownIcon,
  ChevronRightIcon,
  CommentIcon,
  CpuIcon,
  CreditCardIcon,
  DependabotIcon,
  HourglassIcon,
  IterationsIcon,
  PulseIcon,
  ShieldCheckIcon,
  TasklistIcon,
  ToolsIcon,
  type Icon,
} from '@primer/octicons-react'
import { Duration } from '../../parts/figures.tsx'
import type { Span } from '../queries.ts'
import { percent } from './axis.tsx'
import { noteOf } from './span-note.ts'
import type { Interval, Scale } from './scale.ts'
import styles from './timeline.module.css'

const icons: Record<Span['kind'], Icon> = {
  run: PulseIcon,
  plan: TasklistIcon,
  turn: IterationsIcon,
  model: CpuIcon,
  tool: ToolsIcon,
  sub_agent: DependabotIcon,
  approval: ShieldCheckIcon,
  budget: CreditCardIcon,
  wait: HourglassIcon,
  move: ArrowSwitchIcon,
  message: CommentIcon,
}

/** Deeper rows are not indented further: the name needs the room. */
const maxIndent = 10

interface SpanRowProps {
  span: Span
  depth: number
  scale: Scale
  interval: Interval
  isOpen: boolean
  onOpen: () => void
  /** True if the rows below are hidden; undefined without rows below. */
  isClosed: boolean | undefined
  onClose: () => void
}

/** A span in a line: name in the tree, bar on the axis, duration. */
export function SpanRow({ span, depth, scale, interval, isOpen, onOpen, isClosed, onClose }: SpanRowProps) {
  const KindIcon = icons[span.kind]
  return (
    <div className={styles.row} data-status={span.status} data-open={isOpen}>
      <div className={styles.name} style={{ paddingLeft: Math.min(depth, maxIndent) * 16 }}>
        {isClosed === undefined ? (
          <span className={styles.fold} />
        ) : (
          <button
            type="button"
            className={styles.fold}
            onClick={onClose}
            aria-expanded={!isClosed}
            aria-label={`Steps of ${span.name.slice(0, 80)}`}
          >
            {isClosed ? <ChevronRightIcon size={14} /> : <ChevronDownIcon size={14} />}
          </button>
        )}
        <button type="button" className={styles.open} onClick={onOpen} aria-expanded={isOpen}>
          <KindIcon size={14} className={styles.icon} />
          <span className={styles.title}>{span.name}</span>
          {span.attributes.trust === 'untrusted' && (
            <span className={styles.untrusted} title="Strangers can write the output">
              <AlertIcon size={12} aria-label="text of strangers" />
            </span>
          )}
          <span className={styles.note}>{noteOf(span)}</span>
          <span className="visually-hidden">{span.status}</span>
        </button>
      </div>
      <Bar span={span} scale={scale} interval={interval} />
      <div className={styles.duration}>
        <Duration ms={interval.end - interval.start} />
      </div>
    </div>
  )
}

function Bar({ span: { kind, status }, scale, interval }: Pick<SpanRowProps, 'span' | 'scale' | 'interval'>) {
  const [from, to] = [scale.place(interval.start), scale.place(interval.end)]
  return (
    <div className={styles.track} aria-hidden="true">
      {scale.stretches
        .filter(({ isIdle }) => isIdle)
        .map((gap) => (
          <span key={gap.start} className={styles.gapBehind} style={{ left: percent(gap.from), width: percent(gap.to - gap.from) }} />
        ))}
      <span className={styles.bar} data-kind={kind} data-status={status} style={{ left: percent(from), width: percent(to - from) }} />
    </div>
  )
}
