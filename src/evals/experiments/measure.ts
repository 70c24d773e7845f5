import type { Owner } from '../../access/owner.ts'
import { messageOf } from '../../errors.ts'
import { outputOf } from '../../runs/log/outcome.ts'
import { recordedWrites, compareWrites } from '../effects.ts'
import type { Example } from '../example.ts'
import type { ExperimentResult } from '../experiment-store.ts'
import { originalEvents } from '../original.ts'
import { recordedCalls } from '../recorded-calls.ts'
import { recordedReplies } from '../recorded-replies.ts'
import type { LiveRead } from '../replay/live.ts'
import type { Replayed, ReplayPorts } from '../replay/options.ts'
import { replay } from '../replay/replay.ts'
import { isPassed, score, toSubject, type ScorePorts } from '../scorers/score.ts'
import type { Score, Scorer } from '../scorers/scorer.ts'
import type { OpenedAgent } from './agents.ts'
import { boundResult } from './content.ts'
import type { ExperimentExample } from './examples.ts'
import { countEffects, type Outcome } from './figures.ts'
import type { ExperimentTools, VariantSpec } from './spec.ts'
import { toTrace } from './trace.ts'

/** A variant whose agent is open. */
export interface OpenVariant extends Pick<OpenedAgent, 'agent'> {
  kind: VariantSpec['kind']
  live: ReadonlyMap<string, LiveRead>
}

/** One replay of an experiment. */
export interface Item {
  example: ExperimentExample
  variant: number
  repetition: number
}

export interface MeasureOptions {
  variants: readonly OpenVariant[]
  scorers: readonly Scorer[]
  onMiss: ExperimentTools['onMiss']
  /** The payer of the model calls. */
  owner: Owner
  ports: Omit<ReplayPorts, 'readMedia'>
  scoring: Omit<ScorePorts, 'signal'>
  signal: AbortSignal
}

interface Measured {
  outcome: Outcome
  scores: Score[]
  error?: string
}

/** Replays an example with a variant, and scores the answer. A replay that cannot run has the outcome `error`. */
export async function measure(item: Item, options: MeasureOptions): Promise<ExperimentResult> {
  const { example, readMedia } = item.example
  const { agent, kind, live } = options.variants[item.variant]!
  const { owner, onMiss, signal, ports } = options
  const requestId = ports.newId()
  const startedAt = performance.now()
  try {
    const isRecorded = kind === 'recorded'
    const replayed = await replay({ example, agent, isRecorded, onMiss, live, owner, requestId, signal }, { ...ports, readMedia })
    const durationMs = Math.round(performance.now() - startedAt)
    return toResult(item, { requestId, durationMs, replayed, measured: await scoreReplay(example, replayed, options) }, ports.now())
  } catch (error) {
    if (!signal.aborted) ports.onFault(error)
    const measured = { outcome: 'error' as const, scores: [], error: messageOf(error) }
    return toResult(item, { requestId, durationMs: Math.round(performance.now() - startedAt), measured }, ports.now())
  }
}

/** A replay that has stopped has no answer to score. */
async function scoreReplay(example: Example, replayed: Replayed, { scorers, scoring, signal }: MeasureOptions): Promise<Measured> {
  const { status, ended, isEqual } = replayed
  if (status === 'diverged') return { outcome: 'diverged', scores: [] }
  if (status === 'failed' && isEqual !== true)
    return { outcome: 'error', scores: [], error: ended.error?.body ?? `The run ended: ${ended.finishReason}.` }
  // What came before is no answer of the variant.
  if (ended.finishReason === 'budget_exceeded' && isEqual !== true)
    return { outcome: 'error', scores: [], error: 'A budget has ended the run before its end.' }
  const subject = toSubject(example, replayed)
  const scores: Score[] = []
  try {
    for (const scorer of scorers) scores.push(await score(scorer, subject, { ...scoring, signal }))
  } catch (error) {
    return { outcome: 'error', scores, error: `The answer could not be scored: ${messageOf(error)}` }
  }
  return { outcome: isEqual !== false && isPassed(scores) ? 'passed' : 'failed', scores }
}

interface Run {
  requestId: string
  durationMs: number
  /** Absent where the replay could not run. */
  replayed?: Replayed
  measured: Measured
}

function toResult({ example: source, variant, repetition }: Item, run: Run, createdAt: number): ExperimentResult {
  const { example, dataset, datasetId, session } = source
  const { requestId, durationMs, replayed, measured } = run
  const { outcome, scores, error } = measured
  const { events = [], ended, writes = [], divergence, isEqual, hasMissed = false } = replayed ?? {}
  const effects = compareWrites(recordedWrites(example), writes)
  const judgeCosts = scores.flatMap(({ cost }) => cost ?? [])
  const cost = replayed ? ended?.cost : 0
  const content = {
    exampleName: example.name,
    datasetId,
    question: example.input.messages.at(-1)?.content ?? '',
    recorded: { output: recordedOutput(example), requestId: example.source?.request_id },
    result: {
      output: outputOf(events),
      divergence,
      proposedWrites: writes
        .filter(({ recorded }) => !recorded)
        .map(({ tool, tool_input: toolInput }) => ({ tool, toolInput, recorded: false as const })),
      effects,
      scores,
      requestId,
      error,
      isEqual,
    },
  }
  return {
    variant,
    example: example.id,
    repetition,
    outcome,
    session,
    createdAt,
    figures: {
      dataset,
      ...(cost !== undefined && { cost }),
      ...(judgeCosts.length > 0 && { judgeCost: judgeCosts.reduce((sum, part) => sum + part) }),
      tokens: (ended?.promptTokens ?? 0) + (ended?.completionTokens ?? 0),
      durationMs,
      scores: scores.map(({ name, kind, score: points, passed }) => ({ name, kind, score: points, passed })),
      effects: countEffects(effects),
      ...(hasMissed && { missed: true }),
    },
    ...boundResult(content, replayed ? traceOf(replayed) : []),
  }
}

function recordedOutput({ original, recording, model_replies: replies }: Example): string {
  if (original) return outputOf(originalEvents(original, recording))
  return replies.findLast(({ parent }) => parent === null)?.text ?? ''
}

function traceOf({ events, ended, isAnswered }: Replayed) {
  const records = ended.log.trace ?? []
  const calls = recordedCalls(events, records, [])
  const { replies } = recordedReplies(events, records, calls)
  return toTrace({ calls, replies, isAnswered })
}
