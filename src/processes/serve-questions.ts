import process from 'node:process'

/** A message to a worker. `cancel` and `response` belong to the question with the same `id`. */
export type ToWorker<Q> = { id: number; question: Q } | { id: number; cancel: true } | { reply: number; response: unknown }

/** A message from a worker. A `fault` is the last message of a process that cannot continue. */
export type FromWorker<A, R> =
  | { ready: R }
  | { id: number; answer: A }
  | { id: number; cancelled: true }
  | { id: number; request: unknown; reply?: number }
  | { notice: unknown }
  | { fault: string }

/** The question that a worker is answering. */
export interface OpenQuestion {
  /** Number of the question in this process, from 1. */
  id: number
  /** Aborted when the service cancels the question. */
  signal: AbortSignal
  /** Sends a request to the service and resolves to the response. */
  request(request: unknown): Promise<unknown>
  /** Sends a request that has no response. */
  notify(request: unknown): void
}

interface ServeOptions {
  /** Value for the service when the process is ready. */
  ready?: unknown
  /**
   * Confirms each cancellation, which shows that the process is responsive. Only for a process that stays usable despite a question that
   * ignores the signal.
   */
  confirmsCancel?: boolean
  /** Called when the service has closed the channel. Default: exit. */
  onDisconnect?(): void
}

/** Answers the questions of the service from now on, in a process that `Worker` has started. Exits when the channel closes. */
export function serveQuestions(answer: (question: never, open: OpenQuestion) => unknown, options: ServeOptions = {}): void {
  const { ready = true, confirmsCancel = false, onDisconnect = () => process.exit(0) } = options
  const open = new Map<number, AbortController>()
  const replies = new Map<number, (response: unknown) => void>()
  let lastReply = 0

  async function work(id: number, question: never): Promise<void> {
    const controller = new AbortController()
    open.set(id, controller)
    const request = (request: unknown) =>
      new Promise<unknown>((resolve) => {
        replies.set(++lastReply, resolve)
        sendToService({ id, request, reply: lastReply })
      })
    const notify = (request: unknown) => sendToService({ id, request })
    const value = await answer(question, { id, signal: controller.signal, request, notify })
    open.delete(id)
    sendToService({ id, answer: value })
  }

  process.on('message', (message: ToWorker<never>) => {
    if ('question' in message) return void work(message.id, message.question)
    if ('reply' in message) {
      replies.get(message.reply)?.(message.response)
      return void replies.delete(message.reply)
    }
    if (confirmsCancel) sendToService({ id: message.id, cancelled: true })
    open.get(message.id)?.abort()
  })
  process.on('disconnect', onDisconnect)
  sendToService({ ready })
}

export function sendToService(message: FromWorker<unknown, unknown>, done?: () => void): void {
  if (process.connected) process.send?.(message, undefined, undefined, done)
}
