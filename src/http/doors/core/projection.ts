import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { interruptReason, toWaitingFields } from '../../../runs/approvals/approval-view.ts'
import { toAnswerStep } from '../../../runs/log/outcome.ts'
import type { LastEvent } from '../../../runs/run.ts'
import { toCitationContext } from '../../../sessions/message.ts'
import { toStream, type Projection, type RunStream } from '../../projection.ts'

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
