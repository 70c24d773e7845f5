import type { AnswerFile } from '../../../../artifacts/answer-files.ts'
import type { LastEvent, LoggedEvent } from '../../../../runs/run.ts'
import { errorOf } from '../../../../runs/log/outcome.ts'
import { toItemId } from '../ids.ts'
import { toFileText, waitingText } from '../../model-apis/output.ts'
import { Segments } from '../../texts.ts'
import {
  statusOf,
  toAnnotation,
  toFunctionCall,
  toLink,
  toMessage,
  toPart,
  toReasoning,
  type Annotation,
  type OutputItem,
  type OutputMessage,
} from './items.ts'
import { isPartEnd } from './parts.ts'

interface OutputOptions {
  requestId: string
  /** The thoughts of the model are output, as `reasoning` items. */
  showsThoughts: boolean
  /** True where the answer has a schema: clients parse every text, so they get no commentary. */
  hasSchema: boolean
}

/**
 * Takes the events of a streamed response while its output grows. `delta`: a piece of text; `fields` is the same object for all pieces of a text.
 */
export type EmitEvent = (type: string, fields: object, delta?: string) => void

/** An item whose text still grows. */
interface OpenText {
  id: string
  index: number
  text: string
  /** The fields of an event with a piece of the text. */
  place: object
}

/** A blank line parts a message from the next, for clients that join the texts. */
const gap = '\n\n'

/**
 * The output of a response, built from the events of its run. Each segment of the answer is a message: the last is the final answer, earlier
 * ones are commentary. Steps are left out. Equal events give equal items and equal stream events.
 */
export class ResponseOutput {
  private items: OutputItem[] = []
  /** Items of earlier parts, which count in the ids. */
  private earlierItems = 0
  private message: (OpenText & { annotations: Annotation[] }) | undefined
  private thought: OpenText | undefined
  private readonly segments: Segments
  private readonly options: OutputOptions
  private readonly emit: EmitEvent

  constructor(options: OutputOptions, emit: EmitEvent = () => undefined) {
    this.options = options
    this.segments = new Segments({ isHeld: options.hasSchema })
    this.emit = emit
  }

  /** Takes an event that is not the last one of the response. */
  take(event: LoggedEvent): void {
    if (event.type === 'text' && event.label !== 'answer') this.addThought(event.text)
    else this.closeThought()
    const piece = this.segments.take(event)
    if (!piece) return
    if (piece.startsSegment) this.startMessage()
    this.addText(piece.text)
  }

  /** Takes the interruption that ended an earlier part, and returns the items: later items belong to the next part. */
  skip(event: LastEvent): OutputItem[] {
    const items = this.finish(event)
    this.earlierItems += this.items.length
    this.items = []
    return items
  }

  /** Takes the last event of the response, and returns its items. */
  finish(end: LastEvent, files?: readonly AnswerFile[]): OutputItem[] {
    this.closeThought()
    const waits = waitingText(this.options.requestId, end)
    if (waits !== '') {
      this.startMessage()
      this.addText(waits)
    }
    this.addHeld(end)
    if (end.type === 'end') this.annotate((end.citations ?? []).map(toAnnotation))
    const isJson = end.type === 'end' && end.structured === true
    if (!errorOf(end) && !isJson) this.addLinks(files)
    const callsTools = isPartEnd(end)
    this.closeMessage({ status: callsTools ? 'completed' : statusOf(end), phase: callsTools ? 'commentary' : 'final_answer' })
    if (end.type === 'interrupt') this.addCalls(end)
    return this.items
  }

  /** The items so far that are complete. */
  completed(): OutputItem[] {
    return this.items.filter((item) => item !== undefined)
  }

  private addHeld(end: LastEvent): void {
    const answer = this.segments.heldAnswer(end)
    if (answer === '') return
    this.startMessage()
    this.addText(answer)
  }

  private open(type: 'msg' | 'rs', place: (index: number, id: string) => object): OpenText {
    const index = this.items.length
    const id = toItemId(type, this.options.requestId, this.earlierItems + index)
    this.items.length = index + 1
    return { id, index, text: '', place: place(index, id) }
  }

  private startMessage(): void {
    if (this.message) {
      this.addText(gap)
      this.closeMessage({ status: 'completed', phase: 'commentary' })
    }
    const place = (output_index: number, item_id: string) => ({ item_id, output_index, content_index: 0, logprobs: [] })
    const open = this.open('msg', place)
    this.message = { ...open, annotations: [] }
    const item = toMessage(open.id, undefined, { status: 'in_progress', phase: 'final_answer' })
    const { phase: _, ...added } = item
    this.emit('response.output_item.added', { output_index: open.index, item: added })
    this.emit('response.content_part.added', { ...contentRef(open), part: toPart('') })
  }

  private addText(text: string): void {
    const message = this.message!
    message.text += text
    this.emit('response.output_text.delta', message.place, text)
  }

  private closeMessage(state: Pick<OutputMessage, 'status' | 'phase'>): void {
    const { message } = this
    if (!message) return
    this.message = undefined
    const part = toPart(message.text, message.annotations)
    const item = toMessage(message.id, part, state)
    this.items[message.index] = item
    this.emit('response.output_text.done', { ...contentRef(message), text: message.text, logprobs: [] })
    this.emit('response.content_part.done', { ...contentRef(message), part })
    this.emit('response.output_item.done', { output_index: message.index, item })
  }

  /** Appends links to the files of the run to the last message, or to a message of their own. */
  private addLinks(files: readonly AnswerFile[] | undefined): void {
    const { text, citations } = toFileText(files, this.message?.text.length ?? 0)
    if (text === '') return
    if (!this.message) this.startMessage()
    this.addText(text)
    this.annotate(citations.map(toLink))
  }

  /** Adds annotations to the last message, if there is one. */
  private annotate(annotations: readonly Annotation[]): void {
    const { message } = this
    for (const annotation of message ? annotations : []) {
      const added = { ...contentRef(message!), annotation_index: message!.annotations.length, annotation }
      this.emit('response.output_text.annotation.added', added)
      message!.annotations.push(annotation)
    }
  }

  private addThought(text: string): void {
    if (!this.options.showsThoughts || text === '') return
    this.thought ??= this.startThought()
    this.thought.text += text
    this.emit('response.reasoning_summary_text.delta', this.thought.place, text)
  }

  private startThought(): OpenText {
    const open = this.open('rs', (output_index, item_id) => ({ item_id, output_index, summary_index: 0 }))
    const item = { ...toReasoning(open.id, ''), status: 'in_progress', summary: [] }
    this.emit('response.output_item.added', { output_index: open.index, item })
    this.emit('response.reasoning_summary_part.added', { ...summaryRef(open), part: { type: 'summary_text', text: '' } })
    return open
  }

  private closeThought(): void {
    const { thought } = this
    if (!thought) return
    this.thought = undefined
    const item = toReasoning(thought.id, thought.text)
    this.items[thought.index] = item
    this.emit('response.reasoning_summary_text.done', { ...summaryRef(thought), text: thought.text })
    this.emit('response.reasoning_summary_part.done', { ...summaryRef(thought), part: item.summary[0] })
    this.emit('response.output_item.done', { output_index: thought.index, item })
  }

  private addCalls({ calls }: Extract<LastEvent, { type: 'interrupt' }>): void {
    for (const call of calls.filter(({ by }) => by === 'client')) {
      const item = toFunctionCall(call)
      const place = { item_id: item.id, output_index: this.items.length }
      this.emit('response.output_item.added', {
        output_index: place.output_index,
        item: { ...item, status: 'in_progress', arguments: '' },
      })
      this.emit('response.function_call_arguments.delta', place, item.arguments)
      this.emit('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.arguments })
      this.items.push(item)
      this.emit('response.output_item.done', { output_index: place.output_index, item })
    }
  }
}

/** The fields of an event that name the text of a message. */
function contentRef({ id, index }: OpenText): object {
  return { item_id: id, output_index: index, content_index: 0 }
}

/** The fields of an event that name a thought. */
function summaryRef({ id, index }: OpenText): object {
  return { item_id: id, output_index: index, summary_index: 0 }
}
