import type { Inbox } from '../../agent/messages.ts'
import type { LoggedEvent } from '../../runs/run.ts'
import type { WaitingMessage } from '../../runs/steering/run-messages.ts'
import type { RecordedReply } from '../example.ts'

/** The messages that people have sent to the recorded run: each is delivered behind as many replies as in the recording. */
export class RecordedMessages {
  private readonly waiting: (WaitingMessage & { after: number })[]
  private readonly isExact: boolean
  private replies = 0
  private isAnswered = false

  /** `isExact`: false delivers the rest behind an answer that comes earlier than recorded. */
  constructor(events: readonly LoggedEvent[], replies: readonly RecordedReply[], isExact: boolean) {
    this.isExact = isExact
    this.waiting = events.flatMap((event, index) => {
      if (event.type !== 'user_message') return []
      const { id, text, position, rank } = event
      const after = replies.filter(({ parent, at }) => parent === null && at && at.to <= index).length
      return [{ id, mode: 'steer' as const, text, position, rank, after }]
    })
  }

  /** The run's own agent has replied. */
  replied(hasCalls: boolean): void {
    this.replies++
    this.isAnswered = !hasCalls
  }

  get inbox(): Inbox {
    const isDue = () => this.isDue()
    return {
      get isWaiting() {
        return isDue()
      },
    }
  }

  take(): WaitingMessage[] {
    const messages: WaitingMessage[] = []
    while (this.isDue()) {
      const { after: _after, ...message } = this.waiting.shift()!
      messages.push(message)
    }
    return messages
  }

  private isDue(): boolean {
    const [next] = this.waiting
    return next !== undefined && (next.after <= this.replies || (this.isAnswered && !this.isExact))
  }
}
