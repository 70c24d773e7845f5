import { errorOf } from '../../runs/log/outcome.ts'
import { isLastEvent, type LastEvent, type LoggedEvent } from '../../runs/run.ts'
import type { ToChunk } from '../stream-chunks.ts'
import { endedResponse, openResponse, statusOf, toMessage, toPart, type OutputMessage, type ResponseHead } from './response.ts'
import { Segments, type TextPiece } from './segments.ts'
import { withApprovalText } from './approval.ts'

/** A message that is being told. */
interface OpenMessage {
  id: string
  index: number
  text: string
  /** What stands around a delta's text. */
  delta: string
}

/**
 * A response as it comes, in typed events that are numbered from 0. Each segment of the answer is a message: the last is the answer, those
 * before it turn out to be commentary. Thoughts and steps are not told.
 */
export function responseEventsOf(head: ResponseHead): ToChunk {
  const segments = new Segments()
  const output: OutputMessage[] = []
  let number = 0
  let message: OpenMessage | undefined

  function tell(type: string, fields: object): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...fields })}\n\n`
  }

  function begin(): string {
    const response = openResponse(head)
    return tell('response.created', { response }) + tell('response.in_progress', { response })
  }

  function openMessage(): string {
    const index = output.length
    const id = `msg_${head.requestId}_${index}`
    message = {
      id,
      index,
      text: '',
      delta: `,"item_id":${JSON.stringify(id)},"output_index":${index},"content_index":0,"logprobs":[],"delta":`,
    }
    const item = { id, type: 'message', role: 'assistant', status: 'in_progress', content: [] }
    const place = { item_id: id, output_index: index, content_index: 0 }
    return (
      tell('response.output_item.added', { output_index: index, item }) +
      tell('response.content_part.added', { ...place, part: toPart('') })
    )
  }

  function closeMessage(as: Pick<OutputMessage, 'status' | 'phase'>): string {
    if (!message) return ''
    const { id, index, text } = message
    message = undefined
    const item = toMessage(id, text, as)
    output.push(item)
    const place = { item_id: id, output_index: index, content_index: 0 }
    return (
      tell('response.output_text.done', { ...place, text, logprobs: [] }) +
      tell('response.content_part.done', { ...place, part: toPart(text) }) +
      tell('response.output_item.done', { output_index: index, item })
    )
  }

  function toDelta(event: LoggedEvent): string {
    const piece = segments.take(event)
    return piece ? toPiece(piece) : ''
  }

  function toPiece(piece: TextPiece): string {
    const opening = piece.startsSegment ? closeMessage({ status: 'completed', phase: 'commentary' }) + openMessage() : ''
    const open = message!
    open.text += piece.text
    const begin = `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":${number++}`
    return `${opening}${begin}${open.delta}${JSON.stringify(piece.text)}}\n\n`
  }

  function toEnd(end: LastEvent): string {
    const waits = withApprovalText(head.requestId, '', end)
    const telling = waits === '' ? '' : toPiece({ text: waits, startsSegment: true })
    const closing = telling + closeMessage({ status: statusOf(end), phase: 'final_answer' })
    return closing + tell(`response.${errorOf(end) ? 'failed' : statusOf(end)}`, { response: endedResponse(head, output, end) })
  }

  let isFirst = true
  return (_number, event, isLast) => {
    const beginning = isFirst ? begin() : ''
    isFirst = false
    return beginning + (isLast && isLastEvent(event) ? toEnd(event) : toDelta(event))
  }
}
