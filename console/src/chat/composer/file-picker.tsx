import { Button, Checkbox, Group, Modal, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { SearchIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { formatSize } from '../../parts/artifact/preview-kind.ts'
import { RowsSkeleton } from '../../parts/skeletons.tsx'
import { FailedState } from '../../parts/states.tsx'
import { useContextFiles } from '../queries.ts'
import type { Attachments } from './use-attachments.ts'
import styles from './composer.module.css'

interface FilePickerProps {
  chosen: Attachments['contextFiles']
  onChange: (files: Attachments['contextFiles']) => void
  onClose: () => void
}

/** Chooses files below the files root, whose content is put before the question. */
export function FilePicker({ chosen, onChange, onClose }: FilePickerProps) {
  const [text, setText] = useState('')
  const [q] = useDebouncedValue(text.trim(), 200)
  const files = useContextFiles(q)
  const isChosen = (path: string) => chosen.some((file) => file.path === path)
  const toggle = (path: string) =>
    onChange(isChosen(path) ? chosen.filter((file) => file.path !== path) : [...chosen, { path, name: path }])
  return (
    <Modal opened onClose={onClose} title="Files of the agent" size="lg" closeButtonProps={{ 'aria-label': 'Close' }}>
      <TextInput
        label="Search"
        leftSection={<SearchIcon />}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        data-autofocus
      />
      <div className={styles.files}>
        {files.isPending && <RowsSkeleton count={4} />}
        {files.isError && <FailedState title="The files could not be listed" error={files.error} retry={() => void files.refetch()} />}
        {files.data?.files.length === 0 && (
          <Text size="sm" c="dimmed" py="md">
            {q === ''
              ? 'The agent has no files. Add your own with “Pictures and documents”.'
              : 'No file has all of these words in its path.'}
          </Text>
        )}
        {files.data?.files.map(({ path, size }) => (
          <div key={path} className={styles.file}>
            <Checkbox label={path} description={formatSize(size)} checked={isChosen(path)} onChange={() => toggle(path)} />
          </div>
        ))}
        {files.data?.has_more && (
          <Text size="xs" c="dimmed" py="xs">
            More files match. A longer search narrows the list.
          </Text>
        )}
      </div>
      <Group justify="flex-end" mt="md">
        <Button onClick={onClose}>{chosen.length === 0 ? 'Close' : `Use ${chosen.length}`}</Button>
      </Group>
    </Modal>
  )
}
