import type { JsonSchema } from '../../agent/messages.ts'
import { outputOf } from '../../runs/log/outcome.ts'
import { stepsIn } from '../../runs/trace/turn-parts.ts'
import { compareWrites, recordedWrites } from '../effects.ts'
import type { Example } from '../example.ts'
import type { Replayed } from '../replay/options.ts'
import { judge, type JudgePorts } from './judge.ts'
import { LinearPattern } from './linear-pattern.ts'
import { whole, type Measured, type Score, type Scorer, type Subject } from './scorer.ts'
import { contains, exact, jsonPath, namesIn, regex, valueIn } from './texts.ts'
import { trajectory } from './trajectory.ts'

export interface ScorePorts extends JudgePorts {
  /** The faults of a value as clauses; empty for a valid value. */
  faultsOf(schema: JsonSchema, value: unknown): Promise<string[]>
}

/** The part of a replay for scorers. */
export function toSubject(example: Example, { events, ended, writes }: Replayed): Subject {
  const steps = [...stepsIn(events).values()].filter(({ start }) => start.type !== 'planning' && !start.isOfProvider)
  return {
    question: example.input.messages.at(-1)?.content ?? '',
    output: outputOf(events),
    calls: steps.map(({ start }) => ({ tool: start.tool, tool_input: start.input })),
    recordedCalls: example.recording.map(({ tool, tool_input, decision }) => ({ tool, tool_input: decision?.input ?? tool_input })),
    effects: compareWrites(recordedWrites(example), writes),
    cost: ended.cost,
    tokens: ended.promptTokens + ended.completionTokens,
    expected: example.expected ?? {},
  }
}

export async function score(scorer: Scorer, subject: Subject, ports: ScorePorts): Promise<Score> {
  const { name, kind, required = true } = scorer
  const measured = await measure(scorer, subject, ports)
  const { threshold = kind === 'judge' ? (scorer.pass_mark ?? 1) : 1 } = scorer
  return { name, kind, ...measured, passed: measured.score >= threshold, required }
}

async function measure(scorer: Scorer, subject: Subject, ports: ScorePorts): Promise<Measured> {
  switch (scorer.kind) {
    case 'exact':
      return exact(scorer, subject)
    case 'contains':
      return contains(scorer, subject)
    case 'regex':
      return regex(scorer, subject)
    case 'json_path':
      return jsonPath(scorer, subject)
    case 'schema': {
      const value = valueIn(subject.output)
      const faults = value === undefined ? ['it is not JSON'] : await ports.faultsOf(scorer.schema, value)
      return faults.length === 0 ? whole : { score: 0, reason: `The answer does not fit the schema: ${faults.slice(0, 5).join('; ')}.` }
    }
    case 'trajectory':
      return trajectory(scorer, subject)
    case 'effects':
      return effects(subject)
    case 'max_cost':
      if (subject.cost === undefined) return { score: 0, reason: 'The model has no price.' }
      return atMost(subject.cost, scorer.usd, 'USD')
    case 'max_tokens':
      return atMost(subject.tokens, scorer.tokens, 'tokens')
    case 'max_steps':
      return atMost(subject.calls.length, scorer.steps, 'steps')
    case 'judge':
      return judge(scorer, subject, ports)
  }
}

/** The share of writes that are the same in the recording and in the replay. */
function effects({ effects: { same, added, removed, changed } }: Subject): Measured {
  const differences = added.length + removed.length + changed.length
  if (differences === 0) return whole
  return {
    score: same / (same + differences),
    reason: `Writes: ${added.length} added, ${removed.length} removed, ${changed.length} changed.`,
  }
}

function atMost(value: number, limit: number, unit: string): Measured {
  return value <= limit ? whole : { score: 0, reason: `${value} ${unit} are more than ${limit}.` }
}

/** Why a scorer cannot be used, as a clause; undefined for one that can. A schema is checked where schemas of callers are. */
export function faultOfScorer(scorer: Scorer): string | undefined {
  try {
    if (scorer.kind === 'regex') return LinearPattern.faultOf(scorer.pattern)
    if (scorer.kind === 'json_path') namesIn(scorer.path)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** True where every required score has passed. */
export function isPassed(scores: readonly Score[]): boolean {
  return scores.every(({ passed, required }) => passed || !required)
}
