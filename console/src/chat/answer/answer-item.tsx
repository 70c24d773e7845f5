import { lazy, memo, Suspense, useMemo } from 'react'
import { createStore, useStore } from '../../api/store.ts'
import { Markdown } from '../../parts/markdown/markdown.tsx'
import { emptyAnswer, toParts, toSources, type Answer, type Part } from '../live/answer.ts'
import type { LiveRun } from '../live/live-run.ts'
import type { Message } from '../queries.ts'
import { AnswerActions } from './answer-actions.tsx'
import { AnswerEnd } from './answer-end.tsx'
import { Sources } from './sources.tsx'
import { StepCard } from './step-card.tsx'
import { Thought } from './thought.tsx'
import styles from './answer-item.module.css'

interface AnswerItemProps {
  /** The stored answer. */
  message?: Message
  /** The run that the page follows: the received parts replace the stored parts. */
  run?: LiveRun | undefined
  /** Sends the question again; only offered for an answer that failed. */
  onAskAgain?: (() => void) | undefined
}

// Forms and previews are loaded with the first answer that needs a form or preview.
const ApprovalCards = lazy(async () => ({ default: (await import('./approval-cards.tsx')).ApprovalCards }))
const BudgetCard = lazy(async () => ({ default: (await import('./approval-cards.tsx')).BudgetCard }))
const Artifacts = lazy(async () => ({ default: (await import('./artifacts.tsx')).Artifacts }))

const noAnswer = createStore(emptyAnswer)

export function AnswerItem({ message, run, onAskAgain }: AnswerItemProps) {
  const live = useStore(run?.answer ?? noAnswer)
  const stored = useMemo(() => message && toAnswer(message), [message])
  const answer = run ? live : (stored ?? emptyAnswer)
  const metadata = message?.response_metadata
  const artifacts = metadata?.generated_artifacts ?? answer.artifacts
  const requestId = run?.requestId ?? metadata?.request_id
  // The answer before a message of a person: the end of the run is with its last part.
  const isPart = !run && metadata?.request_id !== undefined && metadata.finish_reason === undefined
  return (
    <article className={styles.item} aria-label="Answer" aria-busy={answer.status === 'running'}>
      {answer.parts.map((part, index) => (
        <PartView key={index} part={part} isLast={index === answer.parts.length - 1} isRunning={answer.status === 'running'} />
      ))}
      {answer.status === 'running' && answer.parts.length === 0 && <Waiting />}
      <Suspense fallback={null}>
        {answer.approval && <ApprovalCards approval={answer.approval} />}
        {answer.budget && <BudgetCard pause={answer.budget} />}
        {artifacts.length > 0 && <Artifacts artifacts={artifacts} />}
      </Suspense>
      {answer.sources.length > 0 && <Sources sources={answer.sources} />}
      {answer.status === 'ended' && !isPart && (
        <>
          <AnswerEnd answer={answer} onAskAgain={onAskAgain} />
          <AnswerActions answer={answer} requestId={requestId} model={metadata?.model} />
        </>
      )}
    </article>
  )
}

interface PartViewProps {
  part: Part
  isLast: boolean
  isRunning: boolean
}

const PartView = memo(function PartView({ part, isLast, isRunning }: PartViewProps) {
  if (part.type === 'step') return <StepCard part={part} isRunning={isRunning} />
  if (part.type === 'message')
    return (
      <article className={styles.message} aria-label="Message">
        {part.text}
      </article>
    )
  if (part.type === 'thought') return <Thought part={part} isThinking={isRunning && isLast} />
  return (
    <div className={isLast ? undefined : styles.interim}>
      <Markdown text={part.text} />
    </div>
  )
})

function Waiting() {
  return (
    <div className={styles.waiting} role="status">
      <span className="visually-hidden">Waiting for the answer</span>
      <i />
      <i />
      <i />
    </div>
  )
}

function toAnswer({ content, additional_context: context = [], response_metadata: metadata }: Message): Answer {
  const steps = metadata?.intermediate_steps ?? []
  const parts = toParts(steps, content)
  // Thoughts stand among the steps. Without such steps, thoughts come before everything else.
  const hasThoughts = steps.some(({ type }) => type === 'reasoning' || type === 'planning')
  const thoughts = hasThoughts
    ? []
    : context.flatMap(({ context_type: kind, items }) =>
        kind === 'citations' ? [] : [{ type: 'thought' as const, kind, text: items.map((item) => item.content).join('\n\n') }],
      )
  return {
    parts: [...thoughts, ...parts],
    status: 'ended',
    finishReason: metadata?.finish_reason ?? 'stop',
    usage: metadata?.usage ?? [],
    artifacts: metadata?.generated_artifacts ?? [],
    sources: toSources(context),
  }
}
