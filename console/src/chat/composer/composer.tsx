import { ActionIcon, Button, Loader, Menu, Textarea, Tooltip } from '@mantine/core'
import { FileDirectoryIcon, FilterIcon, PaperAirplaneIcon, PlusIcon, SquareFillIcon, UploadIcon } from '@primer/octicons-react'
import { lazy, Suspense, useRef, useState, type ClipboardEvent, type KeyboardEvent } from 'react'
import { client } from '../../api/client.ts'
import { useMay } from '../../api/me.ts'
import { documentEndings } from '../../parts/files/document-types.ts'
import { useFileDrop } from '../../parts/files/use-file-drop.ts'
import { notifyFailure } from '../../parts/notify.ts'
import type { LiveRun, Question } from '../live/live-run.ts'
import type { MessageMode } from '../live/sent-messages.ts'
import { AttachedItems } from './attached-items.tsx'
import { pictureTypes } from './pictures.ts'
import { useQuestionOfAddress } from './question-of-address.ts'
import { useAttachments } from './use-attachments.ts'
import { useDraft } from './use-draft.ts'
import styles from './composer.module.css'

const FilePicker = lazy(async () => ({ default: (await import('./file-picker.tsx')).FilePicker }))
const HintsDialog = lazy(async () => ({ default: (await import('./hints-dialog.tsx')).HintsDialog }))

interface ComposerProps {
  session: string | undefined
  /** The run that goes on, which the button stops. */
  run: LiveRun | undefined
  onSend: (question: Question) => void
  /** Sends a message to the run. */
  onSendToRun: (text: string, mode: MessageMode) => Promise<void>
}

/** The field for a question, with pictures, documents, files of the agent and data filter hints. */
export function Composer({ session, run, onSend, onSendToRun }: ComposerProps) {
  const [text, setText, forgetDraft] = useDraft(session ?? 'new')
  useQuestionOfAddress(setText)
  const { attached, change, addFiles, isUploading, clear } = useAttachments()
  const [dialog, setDialog] = useState<'files' | 'hints'>()
  const { isOver, ...drop } = useFileDrop((files) => void addFiles(files))
  const fileInput = useRef<HTMLInputElement>(null)
  const hasText = text.trim() !== ''
  const canSend = hasText && run === undefined && !isUploading
  // A message to a run is a text.
  const canSteer = hasText && run !== undefined && Object.values(attached).every((items) => items.length === 0)

  function send() {
    if (!canSend) return
    onSend({ text: text.trim(), ...attached })
    forgetDraft()
    clear()
  }
  async function sendToRun(mode: MessageMode) {
    const message = text.trim()
    forgetDraft()
    try {
      await onSendToRun(message, mode)
    } catch (error) {
      setText(message)
      notifyFailure('The message could not be sent', error)
    }
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    if (canSteer) void sendToRun('steer')
    else send()
  }
  function onPaste(event: ClipboardEvent) {
    const files = [...event.clipboardData.files]
    if (files.length === 0) return
    event.preventDefault()
    void addFiles(files)
  }
  return (
    <div className={styles.composer} data-dropping={isOver} {...drop}>
      <AttachedItems attached={attached} onChange={change} />
      <Textarea
        aria-label="Your question"
        placeholder="Ask anything"
        variant="unstyled"
        autosize
        minRows={1}
        maxRows={12}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
        classNames={{ input: styles.input }}
        autoFocus
        data-autofocus
      />
      <div className={styles.bar}>
        <AddMenu onFile={() => fileInput.current?.click()} onDialog={setDialog} />
        {isUploading && <Loader size="xs" aria-label="Uploading" role="status" />}
        <span className={styles.keys}>{run ? 'Enter sends now' : 'Enter sends, Shift+Enter begins a line'}</span>
        {canSteer && (
          <>
            <Button size="compact-sm" radius="xl" variant="default" onClick={() => void sendToRun('follow_up')}>
              Send after
            </Button>
            <Button size="compact-sm" radius="xl" onClick={() => void sendToRun('steer')}>
              Send now
            </Button>
          </>
        )}
        {run ? <StopButton run={run} /> : <SendButton isDisabled={!canSend} onClick={send} />}
      </div>
      <input
        ref={fileInput}
        type="file"
        accept={[...pictureTypes, ...documentEndings].join(',')}
        multiple
        hidden
        aria-label="Pictures and documents"
        onChange={(event) => {
          void addFiles([...(event.currentTarget.files ?? [])])
          event.currentTarget.value = ''
        }}
      />
      <Suspense fallback={null}>
        {dialog === 'files' && (
          <FilePicker
            chosen={attached.contextFiles}
            onChange={(contextFiles) => change({ contextFiles })}
            onClose={() => setDialog(undefined)}
          />
        )}
        {dialog === 'hints' && (
          <HintsDialog onAdd={(hint) => change({ hints: [...attached.hints, hint] })} onClose={() => setDialog(undefined)} />
        )}
      </Suspense>
    </div>
  )
}

function AddMenu({ onFile, onDialog }: { onFile: () => void; onDialog: (dialog: 'files' | 'hints') => void }) {
  const may = useMay()
  return (
    <Menu position="top-start" width={220}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" radius="xl" aria-label="Add to the question">
          <PlusIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<UploadIcon />} onClick={onFile}>
          Pictures and documents
        </Menu.Item>
        <Menu.Item leftSection={<FileDirectoryIcon />} onClick={() => onDialog('files')}>
          Files of the agent
        </Menu.Item>
        {may('tools.read') && (
          <Menu.Item leftSection={<FilterIcon />} onClick={() => onDialog('hints')}>
            Filter a tool’s data
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}

function SendButton({ isDisabled, onClick }: { isDisabled: boolean; onClick: () => void }) {
  return (
    <ActionIcon size="lg" radius="xl" aria-label="Send" disabled={isDisabled} onClick={onClick}>
      <PaperAirplaneIcon />
    </ActionIcon>
  )
}

function StopButton({ run }: { run: LiveRun }) {
  const [isStopping, setIsStopping] = useState(false)
  async function stop() {
    setIsStopping(true)
    try {
      await client.runs.cancel(run.requestId)
    } catch (error) {
      setIsStopping(false)
      notifyFailure('The run could not be stopped', error)
    }
  }
  return (
    <Tooltip label="Stop">
      <ActionIcon size="lg" radius="xl" variant="light" aria-label="Stop" loading={isStopping} onClick={() => void stop()}>
        <SquareFillIcon />
      </ActionIcon>
    </Tooltip>
  )
}
