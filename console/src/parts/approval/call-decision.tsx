import { Button, Group, Text, Textarea } from '@mantine/core'
import { CheckIcon, PencilIcon, XIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { messageOf } from '../../api/errors.ts'
import { useTools } from '../../api/tools.ts'
import { JsonView } from '../json/json-view.tsx'
import { SchemaForm } from '../schema-form/schema-form.tsx'
import { useDecide } from './queries.ts'
import styles from './call-decision.module.css'

/** A call that waits for approval. */
export interface PendingCall {
  tool_call_id: string
  tool: string
  tool_input?: unknown
}

interface CallDecisionProps {
  requestId: string
  call: PendingCall
  isDecided?: boolean
  mayDecide: boolean
}

/** The input of a call, and the buttons to approve it, to change its input, or to reject it with a reason. */
export function CallDecision({ requestId, call, isDecided = false, mayDecide }: CallDecisionProps) {
  const [mode, setMode] = useState<'view' | 'edit' | 'reject'>('view')
  const decide = useDecide(requestId)
  const send = (decision: 'approve' | 'reject', rest: { tool_input?: Record<string, unknown>; reason?: string } = {}) =>
    decide.mutate({ tool_call_id: call.tool_call_id, decision, ...rest })
  return (
    <>
      {mode === 'edit' ? (
        <EditedInput
          call={call}
          isSending={decide.isPending}
          onApprove={(input) => send('approve', { tool_input: input })}
          onClose={() => setMode('view')}
        />
      ) : (
        <JsonView value={call.tool_input} label="Input" />
      )}
      {decide.error && (
        <Text size="sm" role="alert" className={styles.error}>
          {messageOf(decide.error)}
        </Text>
      )}
      {isDecided || decide.isSuccess ? (
        <Text size="sm" c="dimmed">
          Decided. The answer goes on when every call is decided.
        </Text>
      ) : !mayDecide ? (
        <Text size="sm" c="dimmed">
          Somebody else decides this call: a key with the permission runs.approve.
        </Text>
      ) : (
        <>
          {mode === 'view' && <Buttons isSending={decide.isPending} onApprove={() => send('approve')} onMode={setMode} />}
          {mode === 'reject' && (
            <Rejection
              isSending={decide.isPending}
              onReject={(reason) => send('reject', reason ? { reason } : {})}
              onClose={() => setMode('view')}
            />
          )}
        </>
      )}
    </>
  )
}

function Buttons({
  isSending,
  onApprove,
  onMode,
}: {
  isSending: boolean
  onApprove: () => void
  onMode: (mode: 'edit' | 'reject') => void
}) {
  return (
    <Group gap="xs">
      <Button size="sm" leftSection={<CheckIcon />} loading={isSending} onClick={onApprove}>
        Approve
      </Button>
      <Button size="sm" variant="default" leftSection={<PencilIcon />} disabled={isSending} onClick={() => onMode('edit')}>
        Change input
      </Button>
      <Button size="sm" variant="default" leftSection={<XIcon />} disabled={isSending} onClick={() => onMode('reject')}>
        Reject
      </Button>
    </Group>
  )
}

function Rejection({ isSending, onReject, onClose }: { isSending: boolean; onReject: (reason: string) => void; onClose: () => void }) {
  const [reason, setReason] = useState('')
  return (
    <div>
      <Textarea
        label="Reason"
        description="The agent reads it. It may be left empty."
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
        maxLength={4000}
        autosize
        minRows={2}
        autoFocus
      />
      <Group gap="xs" mt="xs">
        <Button size="sm" color="red.8" loading={isSending} onClick={() => onReject(reason.trim())}>
          Reject
        </Button>
        <Button size="sm" variant="default" onClick={onClose}>
          Back
        </Button>
      </Group>
    </div>
  )
}

interface EditedInputProps {
  call: PendingCall
  isSending: boolean
  onApprove: (input: Record<string, unknown>) => void
  onClose: () => void
}

function EditedInput({ call, isSending, onApprove, onClose }: EditedInputProps) {
  const tools = useTools()
  const [input, setInput] = useState<unknown>(call.tool_input)
  const [isValid, setIsValid] = useState(true)
  const schema = tools.data?.find(({ name }) => name === call.tool)?.schema ?? {}
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  if (tools.isLoading) return null
  return (
    <div>
      <SchemaForm schema={schema} value={input} onChange={setInput} onValidity={setIsValid} disabled={isSending} />
      <Group gap="xs" mt="sm">
        <Button size="sm" disabled={!isValid || !isObject} loading={isSending} onClick={() => onApprove(input as Record<string, unknown>)}>
          Approve with this input
        </Button>
        <Button size="sm" variant="default" onClick={onClose}>
          Back
        </Button>
      </Group>
    </div>
  )
}
