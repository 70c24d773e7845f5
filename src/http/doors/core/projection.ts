import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { interruptReason, toWaitingFields } from '../../../runs/approvals/approval-view.ts'
import { toAnswerStep } from '../../../runs/log/outcome.ts'
import type { LastEvent } from '../../../runs/run.ts'
import { toCitationContext } from '../../../sessions/message.ts'
import { toStream, type Projection, type RunStream } from '../../projection.ts'
import type { EndReason, TextLabel } from '../../../agent/events.ts'

/** A chunk of a run: `{id, token, agent_step, finish_reason, usage}`, all five fields on each. */
export interface Chunk {
  /** Number of the event. */
  number: number
  token: string
  agent_step: string
  /** The fields behind `agent_step`, where they are others than those of a token. */
  more?: object
}

/** The fields behind `agent_step` of a chunk that is not the last one. */
const passing = { finish_reason: 'null', usage: [] }

/** A run as chunks. */
export function chunksOf(requestId: string): Projection<Chunk> {
  const toFields = (event: LastEvent): object => {
    if (event.type === 'interrupt')
      return { finish_reason: interruptReason(event.calls), usage: event.usage, ...toWaitingFields(requestId, event.calls) }
    const { reason, usage, citations, error } = event
    return { finish_reason: reason, usage, additional_context: citations && toCitationContext(citations), error }
  }

  return {
    take(event, number) {
      switch (event.type) {
        case 'text':
          return [{ number, token: event.text, agent_step: event.label }]
        case 'retrying':
          return [{ number, token: '', agent_step: 'retrying' }]
        case 'step_start':
          return [{ number, token: '', agent_step: labelOf(event.step) }]
        case 'step_end':
          return [{ number, token: '', agent_step: labelOf(event.step), more: { ...passing, step: toAnswerStep(event.step) } }]
        case 'interrupt':
        case 'end':
          return [{ number, token: '', agent_step: 'answer' }]
      }
    },
    last: (event, number, files) => [{ number, token: '', agent_step: 'answer', more: { ...toFields(event), ...filesField(files) } }],
  }
}

function labelOf({ type, tool }: { type: string; tool: string }): string {
  return type === 'tool_call' ? `tool:${tool}` : type === 'sub_agent_call' ? tool : type
}

function filesField(files: readonly AnswerFile[]): object {
  return files.length > 0 ? { generated_artifacts: files } : {}
}

/** The chunks of a run as server-sent events, whose id is the number of the event. */
export function streamChunks(requestId: string): RunStream {
  const head = `id: ${requestId}:`
  const data = `\ndata: {"id":${JSON.stringify(requestId)},"token":`
  const tails = new Map<string, string>()

  function tailOf(label: string): string {
    let tail = tails.get(label)
    if (tail === undefined) {
      tail = `,"agent_step":${JSON.stringify(label)},${JSON.stringify(passing).slice(1)}\n\n`
      tails.set(label, tail)
    }
    return tail
  }

  return toStream(chunksOf(requestId), ({ number, token, agent_step: label, more }) => {
    const tail = more ? `,"agent_step":${JSON.stringify(label)},${JSON.stringify(more).slice(1)}\n\n` : tailOf(label)
    return `${head}${number}${data}${JSON.stringify(token)}${tail}`
  })
}

/** The values of labels in stream chunks, and what each means. */

/** `agent_step`. The names in brackets stand for the names of tools and sub-agents. */
export const agentSteps = {
  answer: 'A piece of the answer; also the last chunk, whose token is empty.',
  reasoning: 'A piece of what a reasoning model thinks before it answers.',
  planning: 'A piece of the plan, or of the text of its steps, with `workflow_type: plan_execute`.',
  'tool:<name>': 'A tool call, with an empty token: one chunk when the call starts, one with `step` when it ends.',
  'sub_agent:<name>': 'A task of a sub-agent, likewise: one chunk when it starts, one with `step` when it ends.',
  retrying:
    "The model's stream broke, or the run resumed after a crash: the answer begins anew. Drop the text of the answer so far. The token is empty.",
} as const satisfies Record<TextLabel | 'retrying' | 'tool:<name>' | 'sub_agent:<name>', string>

/** `finish_reason`. */
export const finishReasons = {
  null: 'Not the last chunk. The value is the text `"null"`.',
  stop: 'The answer is complete.',
  length: 'The model reached its limit of output tokens; the answer is cut.',
  content_filter: 'The provider of the model stopped the answer.',
  max_iterations: 'The last of `max_iterations` model calls gave the answer.',
  timeout: 'The run reached `max_execution_time`; the answer is the best so far.',
  cancelled: 'The run was cancelled, or its client went away.',
  tool_calls: 'Calls of client tools wait for their output; `client_tool_calls` lists them. After the outputs, the run goes on.',
  approval_required: 'Tool calls wait for a decision; `approval_required` lists them. After the decisions, the run goes on.',
  schema_mismatch: 'The answer does not fit its schema after all repairs; `error.details.output` has the last text.',
  error: 'The run failed; `error` says why.',
} as const satisfies Record<EndReason | 'null' | 'approval_required' | 'tool_calls', string>
