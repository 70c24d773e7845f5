import type { EventLog } from '../runs/log/event-log.ts'
import { toAnswerStep } from '../runs/log/outcome.ts'
import { toApprovalRequired } from '../runs/approvals/approval-view.ts'
import type { EndEvent, InterruptEvent, LoggedEvent } from '../runs/run.ts'

/** One event of a run's log as the text of one server-sent event. An `interrupt` that is not the last has passed: the run has gone on. */
export type ToChunk = (number: number, event: LoggedEvent, isLast: boolean) => string

/**
 * The chunks of one run: `{id, token, agent_step, finish_reason, usage}`, all five on each. This is the path of every token, so what
 * does not change from chunk to chunk is text that was made once.
 */
export function chunksOf(requestId: string): ToChunk {
  const id = JSON.stringify(requestId)
  const head = `id: ${requestId}:`
  const data = `\ndata: {"id":${id},"token":`
  const tails = new Map<string, string>()

  function tailOf(label: string): string {
    let tail = tails.get(label)
    if (tail === undefined) {
      tail = `,"agent_step":${JSON.stringify(label)},"finish_reason":"null","usage":[]`
      tails.set(label, tail)
    }
    return tail
  }

  return (number, event, isLast) => {
    switch (event.type) {
      case 'text':
        return `${head}${number}${data}${JSON.stringify(event.text)}${tailOf(event.label)}}\n\n`
      case 'retrying':
        return `${head}${number}${data}""${tailOf('retrying')}}\n\n`
      case 'step_start':
        return `${head}${number}${data}""${tailOf(labelOf(event.step.type, event.step.tool))}}\n\n`
      case 'step_end': {
        const step = JSON.stringify(toAnswerStep(event.step))
        return `${head}${number}${data}""${tailOf(labelOf(event.step.type, event.step.tool))},"step":${step}}\n\n`
      }
      case 'interrupt':
        return `${head}${number}${data}""${isLast ? standing(requestId, event) : tailOf('answer')}}\n\n`
      case 'end':
        return `${head}${number}${data}"","agent_step":"answer",${lastFields(event)}}\n\n`
    }
  }
}

function standing(requestId: string, { calls, usage }: InterruptEvent): string {
  const required = JSON.stringify(toApprovalRequired(requestId, calls))
  return `,"agent_step":"answer","finish_reason":"approval_required","usage":${JSON.stringify(usage)},"approval_required":${required}`
}

function labelOf(type: string, tool: string): string {
  return type === 'tool_call' ? `tool:${tool}` : type === 'sub_agent_call' ? tool : type
}

function lastFields({ reason, usage, error }: EndEvent): string {
  return `"finish_reason":"${reason}","usage":${JSON.stringify(usage)}${error ? `,"error":${JSON.stringify(error)}` : ''}`
}

const maxTextLength = 65_536

/** Texts to write, each all that has come since the last. */
export async function* toTexts(log: EventLog, toChunk: ToChunk, after: number, signal: AbortSignal): AsyncGenerator<string, void> {
  for await (const { first, events } of log.follow(after, signal)) {
    let text = ''
    let number = first
    for (const event of events) {
      const isLast = number === log.events.length && log.ended
      text += toChunk(number++, event, isLast)
      // A late reader's log comes in pieces: no socket is given more than it is to take.
      if (text.length < maxTextLength) continue
      yield text
      text = ''
    }
    if (text !== '') yield text
  }
}
