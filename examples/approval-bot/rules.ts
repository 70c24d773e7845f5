import type { WaitingCall } from 'agent-core/client'

export interface Verdict {
  decision: 'approve' | 'reject'
  reason: string
}

/** Decides a call by rules; undefined leaves the decision to a person. */
export function judge({ tool, tool_input }: Pick<WaitingCall, 'tool' | 'tool_input'>): Verdict | undefined {
  if (tool !== 'write_file') return undefined
  const { file_name, content } = tool_input as { file_name: string; content: string }
  if (/password|secret|token/i.test(content)) return { decision: 'reject', reason: 'Files must not contain secrets.' }
  if (/\.(txt|md|csv)$/.test(file_name)) return { decision: 'approve', reason: 'Text files are harmless.' }
  return undefined
}
