import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import type { EventLog } from '../../../runs/log/event-log.ts'
import { toAnswerStep } from '../../../runs/log/outcome.ts'
import { interruptReason, toWaitingFields } from '../../../runs/approvals/approval-view.ts'
import { isLastEvent, type EndEvent, type InterruptEvent, type LoggedEvent } from '../../../runs/run.ts'
import { toCitationContext } from '../../../sessions/additional-context.ts'
import type { ToReaderFiles } from '../../answer-files.ts'

/**
 * Renders one event of a run's log as one server-sent event. After an `interrupt` that is not the last event, the run has resumed. `files`:
 * the files of the run, for the last event.
 */
export type ToChunk = (number: number, event: LoggedEvent, isLast: boolean, files?: readonly AnswerFile[]) => string

/** A run in the form of a protocol. */
export interface RunStream {
  toChunk: ToChunk
  /** Renders a failure that is no event of the run. Default: an `end` with the number of the last event that the reader has received. */
  toFault?: (fault: EndEvent) => string
  /** Text that is sent at once, before the first event; default: none. */
  opening?: string
}

export interface ChunkReader {
  stream: RunStream
  /** Number of the last event that the reader has received. */
  after: number
  disconnected: AbortSignal
  toFiles: ToReaderFiles
}

/**
 * Renders the chunks of one run: `{id, token, agent_step, finish_reason, usage}`, all five fields on each. Every token takes this path, so
 * the constant parts of a chunk are prebuilt text.
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

  return (number, event, isLast, files) => {
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
        return `${head}${number}${data}""${isLast ? waitingFields(requestId, event) + filesField(files) : tailOf('answer')}}\n\n`
      case 'end':
        return `${head}${number}${data}"","agent_step":"answer",${lastFields(event)}${filesField(files)}}\n\n`
    }
  }
}

function waitingFields(requestId: string, { calls, usage }: InterruptEvent): string {
  const fields = JSON.stringify({ finish_reason: interruptReason(calls), usage, ...toWaitingFields(requestId, calls) })
  return `,"agent_step":"answer",${fields.slice(1, -1)}`
}

function labelOf(type: string, tool: string): string {
  return type === 'tool_call' ? `tool:${tool}` : type === 'sub_agent_call' ? tool : type
}

function lastFields({ reason, usage, citations, error }: EndEvent): string {
  const context = citations ? `,"additional_context":${JSON.stringify(toCitationContext(citations))}` : ''
  return `"finish_reason":"${reason}","usage":${JSON.stringify(usage)}${context}${error ? `,"error":${JSON.stringify(error)}` : ''}`
}

function filesField(files: readonly AnswerFile[] | undefined): string {
  return files?.length ? `,"generated_artifacts":${JSON.stringify(files)}` : ''
}

const maxTextLength = 65_536

/**
 * Yields the text of all events since the previous text, in pieces of at most about `maxTextLength` characters. A fault of the log is the last
 * text.
 */
export async function* toTexts(log: EventLog, { stream, after, disconnected, toFiles }: ChunkReader): AsyncGenerator<string, void> {
  const { toChunk } = stream
  let received = after
  for await (const { first, events } of log.follow(after, disconnected)) {
    let text = ''
    let number = first
    for (const event of events) {
      const isLast = number === log.events.length && log.isComplete
      const files = isLast && isLastEvent(event) && event.files ? await toFiles(event.files) : undefined
      text += toChunk(number++, event, isLast, files)
      // A client that joins late gets a long log in pieces, so that no socket buffers the whole log.
      if (text.length < maxTextLength) continue
      yield text
      text = ''
    }
    if (text !== '') yield text
    received = number - 1
  }
  if (log.fault) yield toFaultText(stream, received, log.fault)
}

/**
 * Renders a failure of reading for a client that has received the events up to number `received`. The client resumes after this number, so
 * the failure must not use the number of an event that is still to come.
 */
export function toFaultText({ toChunk, toFault }: RunStream, received: number, fault: EndEvent): string {
  return toFault ? toFault(fault) : toChunk(received, fault, true)
}
