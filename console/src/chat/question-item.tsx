import { ActionIcon, Button, Group, Text, Textarea, Tooltip } from '@mantine/core'
import { FileIcon, ImageIcon, PencilIcon } from '@primer/octicons-react'
import { useState, type KeyboardEvent } from 'react'
import { CopyButton } from '../parts/copy-button.tsx'
import { notifyFailure } from '../parts/notify.ts'
import type { Message } from './queries.ts'
import styles from './question-item.module.css'

/** Characters of a question that are shown until the reader asks for all. */
const shownCharacters = 3000

interface QuestionItemProps {
  message: Message
  isUnanswered?: boolean
  /** Asks the question with another text in a copy of the conversation. Absent while an answer is on its way. */
  onAskAnew?: ((text: string) => Promise<void>) | undefined
}

export function QuestionItem({ message, isUnanswered = false, onAskAnew }: QuestionItemProps) {
  const { content, images = [], context_files: files = [] } = message
  const [isEditing, setIsEditing] = useState(false)
  const [isWhole, setIsWhole] = useState(false)
  if (isEditing && onAskAnew) return <QuestionEditor text={content} onAsk={onAskAnew} onClose={() => setIsEditing(false)} />
  const isCut = !isWhole && content.length > shownCharacters
  return (
    <article className={styles.item} aria-label="Question">
      <div className={styles.bubble}>
        {isCut ? content.slice(0, shownCharacters) : content}
        {isCut && (
          <Button size="compact-xs" variant="subtle" onClick={() => setIsWhole(true)}>
            Show all {content.length.toLocaleString('en')} characters
          </Button>
        )}
      </div>
      {images.length + files.length > 0 && (
        <ul className={styles.files}>
          {images.map(({ name }, index) => (
            <li key={`i${index}`}>
              <ImageIcon size={12} /> <span>{name}</span>
            </li>
          ))}
          {files.map(({ name }, index) => (
            <li key={`f${index}`}>
              <FileIcon size={12} /> <span>{name}</span>
            </li>
          ))}
        </ul>
      )}
      <Group gap={2} className={styles.actions}>
        {isUnanswered && (
          <Text size="xs" c="dimmed" mr={6}>
            This question got no answer.
          </Text>
        )}
        <CopyButton text={content} label="Copy question" />
        {onAskAnew && (
          <Tooltip label="Edit, and go on from here">
            <ActionIcon variant="subtle" color="gray" aria-label="Edit question" onClick={() => setIsEditing(true)}>
              <PencilIcon />
            </ActionIcon>
          </Tooltip>
        )}
      </Group>
    </article>
  )
}

function QuestionEditor({ text, onAsk, onClose }: { text: string; onAsk: (text: string) => Promise<void>; onClose: () => void }) {
  const [changed, setChanged] = useState(text)
  const [isSending, setIsSending] = useState(false)
  async function send() {
    setIsSending(true)
    try {
      await onAsk(changed.trim())
    } catch (error) {
      notifyFailure('The conversation could not be copied', error)
      setIsSending(false)
    }
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === 'Escape') onClose()
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && changed.trim() !== '') void send()
  }
  return (
    <div className={styles.editor}>
      <Textarea
        label="Edit the question"
        description="The conversation goes on from here in a copy. This one stays as it is."
        value={changed}
        onChange={(event) => setChanged(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        autosize
        minRows={2}
        maxRows={14}
        autoFocus
      />
      <Group justify="flex-end" gap="xs" mt="xs">
        <Button variant="default" size="sm" onClick={onClose}>
          Cancel
        </Button>
        <Button size="sm" loading={isSending} disabled={changed.trim() === ''} onClick={() => void send()}>
          Ask
        </Button>
      </Group>
    </div>
  )
}
