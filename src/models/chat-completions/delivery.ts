import type { ModelSink } from '../../agent/model.ts'
import type { EventStream } from './event-stream.ts'
import type { ReplyBuilder } from './reply.ts'

interface Reader {
  sink: ModelSink
  signal: AbortSignal
}

/** Passes the events of an answer to a sink as they arrive. A waiting stream keeps this object, and no promise for each read. */
export class Delivery {
  /** Resolves when the answer has ended. Rejects when the signal is aborted, and with the failure of the sink. */
  readonly ended: Promise<void>
  private readonly stream: EventStream
  private readonly builder: ReplyBuilder
  private readonly reader: Reader
  private isBusy = false
  private resolve!: () => void
  private reject!: (error: unknown) => void

  constructor(stream: EventStream, builder: ReplyBuilder, reader: Reader) {
    this.stream = stream
    this.builder = builder
    this.reader = reader
    this.ended = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    stream.delivery = this
    this.pass()
  }

  /** Passes on what has arrived. While the sink is busy, further text is merged, and much text pauses the socket. */
  pass(): void {
    const { stream, builder, reader } = this
    try {
      while (!this.isBusy) {
        reader.signal.throwIfAborted()
        const isOver = builder.isDone || stream.isOver
        if (isOver) builder.end()
        const event = builder.take()
        if (!event) return isOver ? this.end() : stream.resume()
        const storing = reader.sink(event)
        if (storing) this.wait(storing)
      }
    } catch (error) {
      this.end(error)
    }
  }

  private wait(storing: Promise<void>): void {
    this.isBusy = true
    storing.then(
      () => {
        this.isBusy = false
        this.pass()
      },
      (error: unknown) => this.end(error),
    )
  }

  private end(failure?: unknown): void {
    this.stream.delivery = undefined
    if (failure === undefined) this.resolve()
    else this.reject(failure)
  }
}
