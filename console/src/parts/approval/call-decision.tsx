import { Button, Group, Text, Textarea } from '@mantine/core'
import { CheckIcon, PencilIcon, XIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { messageOf } from '../../api/errors.ts'
import { useTools } from '../../api/tools.ts'
import { JsonView } from '../json/json-view.tsx'
import { SchemaForm } from '../schema-form/schema-form.tsx'
import { useDecide, type Decision } from './queries.ts'
import { toQuestion, type Question } from './question.ts'
import { UntrustedNotice, type Source } from './untrusted-notice.tsx'
import styles from './call-decision.module.css'

/** A call that waits for approval. */
export interface PendingCall {
  tool_call_id: string
  tool: string
  tool_input?: unknown
  /** Present on a call that containment holds. */
  reason?: 'untrusted_content' | undefined
  sources?: readonly Source[] | undefined
}

interface CallDecisionProps {
  requestId: string
  call: PendingCall
  isDecided?: boolean
  mayDecide: boolean
  onDecided?: (decision: Decision['decision']) => void
}

/** The input of a call, and the buttons to approve the call, to change the input, or to reject the call with a reason. */
export function CallDecision({ requestId, call, isDecided = false, mayDecide, onDecided }: CallDecisionProps) {
  const [mode, setMode] = useState<'view' | 'edit' | 'reject'>('view')
  const decide = useDecide(requestId, onDecided)
  const question = toQuestion(call)
  const send = (decision: 'approve' | 'reject', rest: { tool_input?: Record<string, unknown>; reason?: string } = {}) =>
    decide.mutate({ tool_call_id: call.tool_call_id, decision, ...rest })
  return (
    <>
      {call.reason === 'untrusted_content' && <UntrustedNotice sources={call.sources ?? []} />}
      {question && <QuestionText question={question} />}
      {mode === 'edit' ? (
        <EditedInput
          call={call}
          question={question}
          isSending={decide.isPending}
          onApprove={(input) => send('approve', { tool_input: input })}
          onClose={() => setMode('view')}
        />
      ) : (
        !question && <JsonView value={call.tool_input} label="Input" />
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
          {mode === 'view' && (
            <Buttons
              labels={question ? questionLabels : callLabels}
              isSending={decide.isPending}
              onApprove={question?.schema ? undefined : () => send('approve')}
              onEdit={question && !question.schema ? undefined : () => setMode('edit')}
              onReject={() => (question ? send('reject') : setMode('reject'))}
            />
          )}
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

const callLabels = { approve: 'Approve', edit: 'Change input', reject: 'Reject', send: 'Approve with this input' }
const questionLabels = { approve: 'Confirm', edit: 'Answer', reject: 'Decline', send: 'Send the answer' }

interface ButtonsProps {
  labels: typeof callLabels
  isSending: boolean
  onApprove: (() => void) | undefined
  onEdit: (() => void) | undefined
  onReject: () => void
}

function Buttons({ labels, isSending, onApprove, onEdit, onReject }: ButtonsProps) {
  return (
    <Group gap="xs">
      {onApprove && (
        <Button size="sm" leftSection={<CheckIcon />} loading={isSending} onClick={onApprove}>
          {labels.approve}
        </Button>
      )}
      {onEdit && (
        <Button size="sm" variant={onApprove ? 'default' : 'filled'} leftSection={<PencilIcon />} disabled={isSending} onClick={onEdit}>
          {labels.edit}
        </Button>
      )}
      <Button size="sm" variant="default" leftSection={<XIcon />} disabled={isSending} onClick={onReject}>
        {labels.reject}
      </Button>
    </Group>
  )
}

/** The address of a page is shown as text: the person decides whether to open it. */
function QuestionText({ question: { server, text, url } }: { question: Question }) {
  return (
    <div>
      <Text size="sm" c="dimmed">
        The server {server} asks:
      </Text>
      <Text style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{text}</Text>
      {url !== undefined && (
        <Text ff="monospace" size="sm" style={{ overflowWrap: 'anywhere' }}>
          {url}
        </Text>
      )}
    </div>
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
  /** Present for a question, whose answer is edited in place of an input. */
  question: Question | undefined
  isSending: boolean
  onApprove: (input: Record<string, unknown>) => void
  onClose: () => void
}

function EditedInput({ call, question, isSending, onApprove, onClose }: EditedInputProps) {
  const tools = useTools()
  const [input, setInput] = useState<unknown>(question ? {} : call.tool_input)
  const [isValid, setIsValid] = useState(true)
  const schema = question?.schema ?? tools.data?.find(({ name }) => name === call.tool)?.schema ?? {}
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  if (tools.isLoading) return null
  return (
    <div>
      <SchemaForm schema={schema} value={input} onChange={setInput} onValidity={setIsValid} disabled={isSending} />
      <Group gap="xs" mt="sm">
        <Button size="sm" disabled={!isValid || !isObject} loading={isSending} onClick={() => onApprove(input as Record<string, unknown>)}>
          {(question ? questionLabels : callLabels).send}
        </Button>
        <Button size="sm" variant="default" onClick={onClose}>
          Back
        </Button>
      </Group>
    </div>
  )
}
