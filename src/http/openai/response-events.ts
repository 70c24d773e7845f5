import { errorOf } from '../../runs/log/outcome.ts'
import { isLastEvent, type LastEvent, type LoggedEvent } from '../../runs/run.ts'
import type { ToChunk } from '../stream-chunks.ts'
import { endedResponse, openResponse, statusOf, toMessage, toPart, type OutputMessage, type ResponseHead } from './response.ts'
import { Segments, type TextPiece } from './segments.ts'
import { withApprovalText } from './approval.ts'

/** The output message that is being streamed. */
interface OpenMessage {
  id: string
  index: number
  text: string
  /** Prebuilt JSON before the text of a delta event. */
  delta: string
}

/**
 * Renders a run as the events of a streamed response, numbered from 0. Each segment of the answer is a message: the last segment is the final
 * answer, earlier segments are commentary. Thoughts and steps are left out.
 */
export function responseEventsOf(head: ResponseHead): ToChunk {
  const segments = new Segments()
  const output: OutputMessage[] = []
  let number = 0
  let message: OpenMessage | undefined

  function toEvent(type: string, fields: object): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...fields })}\n\n`
  }

  function begin(): string {
    const response = openResponse(head)
    return toEvent('response.created', { response }) + toEvent('response.in_progress', { response })
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
    const contentRef = { item_id: id, output_index: index, content_index: 0 }
    return (
      toEvent('response.output_item.added', { output_index: index, item }) +
      toEvent('response.content_part.added', { ...contentRef, part: toPart('') })
    )
  }

  function closeMessage(state: Pick<OutputMessage, 'status' | 'phase'>): string {
    if (!message) return ''
    const { id, index, text } = message
    message = undefined
    const item = toMessage(id, text, state)
    output.push(item)
    const contentRef = { item_id: id, output_index: index, content_index: 0 }
    return (
      toEvent('response.output_text.done', { ...contentRef, text, logprobs: [] }) +
      toEvent('response.content_part.done', { ...contentRef, part: toPart(text) }) +
      toEvent('response.output_item.done', { output_index: index, item })
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
    const approvalText = withApprovalText(head.requestId, '', end)
    const approval = approvalText === '' ? '' : toPiece({ text: approvalText, startsSegment: true })
    const closing = approval + closeMessage({ status: statusOf(end), phase: 'final_answer' })
    return closing + toEvent(`response.${errorOf(end) ? 'failed' : statusOf(end)}`, { response: endedResponse(head, output, end) })
  }

  let isFirst = true
  return (_number, event, isLast) => {
    const beginning = isFirst ? begin() : ''
    isFirst = false
    return beginning + (isLast && isLastEvent(event) ? toEnd(event) : toDelta(event))
  }
}
