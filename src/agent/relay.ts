import type { TextLabel } from './events.ts'
import { ImageFilter } from './images/image-filter.ts'
import { rewriteJson, withoutPictures, type Rewrite } from './images/rewrite.ts'
import { isQuestion } from './inbox.ts'
import type { Message } from './messages.ts'
import type { ModelReply, ModelSink } from './model.ts'
import type { Loop } from './options.ts'
import { brokenOff, ProviderSteps } from './provider-steps.ts'
import { CodeFence } from './structured-answer.ts'

/** Emits the events of one model call as events of the agent. */
export class Relay {
  /** Absent as long as the provider has run no call. */
  steps: ProviderSteps | undefined
  private readonly loop: Loop
  private readonly label: TextLabel | undefined
  /** Takes the fence off an answer with a schema. */
  private fence: CodeFence | undefined
  /** Take pictures of foreign hosts out of the text, and out of the reasoning. */
  private images: { text: ImageFilter; reasoning: ImageFilter } | undefined
  /** Present for a reply that a program reads: pictures are taken out of the whole reply. */
  private rewrite: Rewrite | undefined
  private readonly ofTurn: Rewrite | undefined
  /** True when something was published that a further attempt voids. */
  private isPublished: boolean

  constructor(loop: Loop, { label, rewrite }: { label: TextLabel | undefined; rewrite?: Rewrite }) {
    this.loop = loop
    this.label = label
    this.ofTurn = rewrite
    this.isPublished = label !== undefined
    this.begin()
  }

  readonly take: ModelSink = (event) => {
    const { answer, emit } = this.loop
    switch (event.type) {
      case 'text': {
        if (this.images) void this.publishReasoning(this.images.reasoning.end())
        const text = this.fence ? this.fence.take(event.text) : event.text
        if (this.rewrite) return undefined
        return this.publish(this.images ? this.images.text.take(text) : text)
      }
      case 'reasoning':
        return this.publishReasoning(this.images ? this.images.reasoning.take(event.text) : event.text)
      case 'call_start':
      case 'call_end':
        this.isPublished = true
        if (this.images) void this.publishReasoning(this.images.reasoning.end())
        for (const text of answer.heldReasoning.splice(0)) void emit(answer.add('reasoning', text))
        answer.isStale = true
        this.steps ??= new ProviderSteps(this.loop)
        return event.type === 'call_start' ? this.steps.start(event.call) : this.steps.end(event)
      case 'retrying':
        return this.restart()
    }
  }

  /** Publishes the text that was held back; returns the reply with the published text. */
  end(reply: ModelReply): ModelReply {
    const { fence, images } = this
    if (!fence && !images) return reply
    const rest = fence?.end() ?? ''
    if (!images) {
      void this.publish(rest)
      return fence ? withText(reply, fence.text) : reply
    }
    void this.publishReasoning(images.reasoning.end())
    const hosts = this.loop.options.imageHosts ?? []
    const last = this.rewrite ? this.rewrite(fence?.text ?? reply.text, (text) => withoutPictures(text, hosts)) : rest
    void this.publish(images.text.take(last) + images.text.end())
    const withoutImages = withText({ ...reply, reasoning: withoutPictures(reply.reasoning, hosts) }, images.text.text)
    // Without its pictures, the text has other places.
    return withoutImages.text === reply.text ? withoutImages : withoutPlaces(withoutImages)
  }

  private begin(): void {
    const { answerSchema, imageHosts, messages } = this.loop.options
    this.fence = this.label === 'answer' && answerSchema !== undefined ? new CodeFence() : undefined
    this.rewrite = imageHosts && (this.fence ? rewriteJson : this.ofTurn)
    this.images = imageHosts && {
      text: new ImageFilter(imageHosts, textsOfRun(messages)),
      reasoning: new ImageFilter(imageHosts),
    }
  }

  private publish(text: string): Promise<void> | undefined {
    const { label, fence, images } = this
    const { answer, emit } = this.loop
    if (label === undefined || ((fence ?? images) && text === '')) return undefined
    // The text before a call of the provider is repeated when the text behind the call begins.
    if (label === 'answer' && text !== '' && answer.isStale && answer.hasText) void emit(answer.repeat())
    return emit(answer.add(label, text))
  }

  private publishReasoning(text: string): Promise<void> | undefined {
    const { answer, emit } = this.loop
    if ((this.images && text === '') || answer.holdBack(text)) return undefined
    this.isPublished = true
    return emit(answer.add('reasoning', text))
  }

  private restart(): Promise<void> | undefined {
    const stored = this.steps?.close(brokenOff)
    this.loop.answer.restart()
    this.begin()
    // Unpublished text has no attempt to discard.
    return this.isPublished ? this.loop.emit({ type: 'retrying' }) : stored
  }
}

/** The reply with a text of the loop. Data of the provider belongs to the text that the model wrote. */
export function withText(reply: ModelReply, text: string): ModelReply {
  if (reply.text === text) return reply
  const { vendor: _vendor, ...rest } = reply
  return { ...rest, text }
}

/** The texts of the model since the question. */
function textsOfRun(messages: readonly Message[]): string[] {
  return messages.slice(messages.findLastIndex(isQuestion) + 1).flatMap((message) => (message.role === 'assistant' ? [message.text] : []))
}

function withoutPlaces(reply: ModelReply): ModelReply {
  const sources = reply.sources?.map(({ start: _start, end: _end, ...source }) => source)
  return { ...reply, ...(sources && { sources }) }
}
