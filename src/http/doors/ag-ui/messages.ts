import type { ToTextForm } from '../streamed-texts.ts'
import { toEvent } from './event-text.ts'

/** The texts of a run as messages of AG-UI. */
export function messagesOf(requestId: string): ToTextForm {
  return (kind, number) => {
    const messageId = `msg_${requestId}_${number}`
    const deltaOf = (type: string) => `data: {"type":"${type}","messageId":${JSON.stringify(messageId)},"delta":`
    if (kind === 'text') {
      return {
        opening: toEvent('TEXT_MESSAGE_START', { messageId, role: 'assistant' }),
        delta: deltaOf('TEXT_MESSAGE_CONTENT'),
        closing: toEvent('TEXT_MESSAGE_END', { messageId }),
      }
    }
    return {
      opening: toEvent('REASONING_START', { messageId }) + toEvent('REASONING_MESSAGE_START', { messageId, role: 'reasoning' }),
      delta: deltaOf('REASONING_MESSAGE_CONTENT'),
      closing: toEvent('REASONING_MESSAGE_END', { messageId }) + toEvent('REASONING_END', { messageId }),
    }
  }
}
