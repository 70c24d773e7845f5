import { ActionIcon, Menu, Textarea, Tooltip } from '@mantine/core'
import { FileIcon, FilterIcon, ImageIcon, PaperAirplaneIcon, PlusIcon, SquareFillIcon } from '@primer/octicons-react'
import { lazy, Suspense, useRef, useState, type ClipboardEvent, type DragEvent, type KeyboardEvent } from 'react'
import { client } from '../../api/client.ts'
import { useMay } from '../../api/me.ts'
import { notifyFailure } from '../../parts/notify.ts'
import type { LiveRun, Question } from '../live/live-run.ts'
import { AttachedItems } from './attached-items.tsx'
import { maxPictures, readPictures } from './pictures.ts'
import { useQuestionOfAddress } from './question-of-address.ts'
import { useDraft } from './use-draft.ts'
import styles from './composer.module.css'

const FilePicker = lazy(async () => ({ default: (await import('./file-picker.tsx')).FilePicker }))
const HintsDialog = lazy(async () => ({ default: (await import('./hints-dialog.tsx')).HintsDialog }))

interface ComposerProps {
  session: string | undefined
  /** The run that goes on, which the button stops. */
  run: LiveRun | undefined
  onSend: (question: Question) => void
}

type Attachments = Required<Omit<Question, 'text'>>
const noAttachments: Attachments = { images: [], contextFiles: [], hints: [] }

/** The field for a question, with pictures, context files and data filter hints. */
export function Composer({ session, run, onSend }: ComposerProps) {
  const [text, setText, forgetDraft] = useDraft(session ?? 'new')
  useQuestionOfAddress(setText)
  const [attached, setAttached] = useState(noAttachments)
  const [dialog, setDialog] = useState<'files' | 'hints'>()
  const [isDropping, setIsDropping] = useState(false)
  const pictureInput = useRef<HTMLInputElement>(null)
  const canSend = text.trim() !== '' && run === undefined

  const change = (part: Partial<Attachments>) => setAttached((current) => ({ ...current, ...part }))
  async function addPictures(files: readonly File[]) {
    const images = await readPictures(files, maxPictures - attached.images.length)
    setAttached((current) => ({ ...current, images: [...current.images, ...images] }))
  }
  function send() {
    if (!canSend) return
    onSend({ text: text.trim(), ...attached })
    forgetDraft()
    setAttached(noAttachments)
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  function onPaste(event: ClipboardEvent) {
    const files = [...event.clipboardData.files]
    if (files.length === 0) return
    event.preventDefault()
    void addPictures(files)
  }
  function onDrop(event: DragEvent) {
    event.preventDefault()
    setIsDropping(false)
    void addPictures([...event.dataTransfer.files])
  }
  return (
    <div
      className={styles.composer}
      data-dropping={isDropping}
      onDragOver={(event) => {
        event.preventDefault()
        setIsDropping(true)
      }}
      onDragLeave={() => setIsDropping(false)}
      onDrop={onDrop}
    >
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
        <AddMenu onPicture={() => pictureInput.current?.click()} onDialog={setDialog} />
        <span className={styles.keys}>Enter sends, Shift+Enter begins a line</span>
        {run ? <StopButton run={run} /> : <SendButton isDisabled={!canSend} onClick={send} />}
      </div>
      <input
        ref={pictureInput}
        type="file"
        accept="image/png,image/jpeg,image/gif,image/webp"
        multiple
        hidden
        aria-label="Pictures"
        onChange={(event) => {
          void addPictures([...(event.currentTarget.files ?? [])])
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

function AddMenu({ onPicture, onDialog }: { onPicture: () => void; onDialog: (dialog: 'files' | 'hints') => void }) {
  const may = useMay()
  return (
    <Menu position="top-start" width={220}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" radius="xl" aria-label="Add to the question">
          <PlusIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<ImageIcon />} onClick={onPicture}>
          Pictures
        </Menu.Item>
        <Menu.Item leftSection={<FileIcon />} onClick={() => onDialog('files')}>
          Context files
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
