import { ChevronDownIcon, ChevronRightIcon, PersonIcon, SyncIcon, ToolsIcon, XCircleFillIcon } from '@primer/octicons-react'
import { useEffect, useId, useState } from 'react'
import { Duration } from '../../parts/figures.tsx'
import { JsonView } from '../../parts/json/json-view.tsx'
import { LogText } from '../../parts/log-text.tsx'
import type { StepPart } from '../live/answer.ts'
import { summaryOf } from './step-summary.ts'
import styles from './step-card.module.css'

interface StepCardProps {
  part: StepPart
  /** True while the run goes on: a step without an end is then running, otherwise cut off. */
  isRunning: boolean
}

/** A call of a tool or sub-agent: a line that opens to input, output and log. */
export function StepCard({ part, isRunning }: StepCardProps) {
  const { step, name, isSubAgent, inner, progress } = part
  const [isOpen, setIsOpen] = useState(false)
  const id = useId()
  const Arrow = isOpen ? ChevronDownIcon : ChevronRightIcon
  const state = step ? step.status : isRunning ? 'running' : 'unfinished'
  return (
    <div className={styles.card} data-state={state}>
      <button type="button" className={styles.summary} aria-expanded={isOpen} aria-controls={id} onClick={() => setIsOpen(!isOpen)}>
        <StateIcon state={state} isSubAgent={isSubAgent} />
        <span className={styles.name}>{name.slice(0, 200)}</span>
        <span className={styles.hint}>{step ? summaryOf(step.tool_input) : isRunning && progress}</span>
        {state === 'error' && <span className={styles.failed}>failed</span>}
        {state === 'unfinished' && <span className={styles.time}>no result</span>}
        <span className={styles.time}>{step ? <Duration ms={step.execution_time * 1000} /> : isRunning && <Elapsed />}</span>
        <Arrow size={14} className={styles.arrow} />
      </button>
      {inner.length > 0 && (
        <div className={styles.inner}>
          {inner.map((child, index) => (
            <StepCard key={index} part={child} isRunning={isRunning} />
          ))}
        </div>
      )}
      {isOpen && (
        <div id={id} className={styles.details}>
          {step ? <Details step={step} /> : <p className={styles.note}>Input and output are shown when the call has ended.</p>}
        </div>
      )}
    </div>
  )
}

function Details({ step }: { step: NonNullable<StepPart['step']> }) {
  return (
    <>
      <h4>Input</h4>
      <JsonView value={step.tool_input} label="Input" />
      <h4>Output</h4>
      <JsonView value={step.output} label="Output" />
      {step.log !== '' && (
        <>
          <h4>Log</h4>
          <LogText text={step.log} />
        </>
      )}
    </>
  )
}

function StateIcon({ state, isSubAgent }: { state: string; isSubAgent: boolean }) {
  if (state === 'running') return <SyncIcon size={14} className={styles.turning} />
  if (state === 'error') return <XCircleFillIcon size={14} className={styles.failed} />
  return isSubAgent ? <PersonIcon size={14} className={styles.icon} /> : <ToolsIcon size={14} className={styles.icon} />
}

/** Seconds since the card appeared. */
function Elapsed() {
  const [started] = useState(Date.now)
  const [now, setNow] = useState(started)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.round((now - started) / 1000)
  return seconds < 1 ? null : <span>{seconds} s</span>
}
