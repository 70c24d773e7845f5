import { Button } from '@mantine/core'
import { UploadIcon } from '@primer/octicons-react'
import { useRef } from 'react'
import { documentEndings, documentFault, documentNames } from '../parts/files/document-types.ts'
import { useFileDrop } from '../parts/files/use-file-drop.ts'
import { notify, notifyFailure } from '../parts/notify.ts'
import { useAddDocuments } from './queries.ts'
import styles from './files.module.css'

/** Takes dropped or chosen documents. */
export function DocumentDrop() {
  const adding = useAddDocuments()
  const input = useRef<HTMLInputElement>(null)
  const { isOver, ...drop } = useFileDrop(add)

  function add(files: readonly File[]): void {
    const readable = files.filter((file) => {
      const fault = documentFault(file)
      if (fault !== undefined) notifyFailure('The document was not added', new Error(fault))
      return fault === undefined
    })
    if (readable.length > 0) adding.mutate(readable, { onSuccess: report })
  }
  return (
    <div className={styles.drop} data-over={isOver} {...drop}>
      <Button leftSection={<UploadIcon />} loading={adding.isPending} onClick={() => input.current?.click()}>
        Add documents
      </Button>
      <p className={styles.dropText}>or drop them here: {documentNames}. A new version replaces the document of the same name.</p>
      <input
        ref={input}
        type="file"
        accept={documentEndings.join(',')}
        multiple
        hidden
        aria-label="Documents"
        onChange={(event) => {
          add([...(event.currentTarget.files ?? [])])
          event.currentTarget.value = ''
        }}
      />
    </div>
  )
}

function report(results: readonly PromiseSettledResult<{ name: string }>[]): void {
  for (const result of results) if (result.status === 'rejected') notifyFailure('The document was not added', result.reason)
  const added = results.filter(({ status }) => status === 'fulfilled').length
  if (added > 0) notify(`${added === 1 ? 'The document is' : `${added} documents are`} being read, and can be found when ready.`)
}
