import { useState } from 'react'
import { client } from '../../api/client.ts'
import { documentFault } from '../../parts/files/document-types.ts'
import { notifyFailure } from '../../parts/notify.ts'
import type { Question } from '../live/live-run.ts'
import { isImage, maxPictures, readPictures } from './pictures.ts'

export type Attachments = Required<Omit<Question, 'text'>>

const noAttachments: Attachments = { images: [], contextFiles: [], hints: [] }

/** Attachments of the next question. An added document is uploaded at once. */
export function useAttachments() {
  const [attached, setAttached] = useState(noAttachments)
  const [uploads, setUploads] = useState(0)
  const change = (part: Partial<Attachments>) => setAttached((current) => ({ ...current, ...part }))

  async function addFiles(files: readonly File[]): Promise<void> {
    await Promise.all([addPictures(files.filter(isImage)), ...files.filter((file) => !isImage(file)).map(addDocument)])
  }
  async function addPictures(files: readonly File[]): Promise<void> {
    const images = await readPictures(files, maxPictures - attached.images.length)
    setAttached((current) => ({ ...current, images: [...current.images, ...images] }))
  }
  async function addDocument(file: File): Promise<void> {
    setUploads((count) => count + 1)
    try {
      const fault = documentFault(file)
      if (fault !== undefined) throw new Error(fault)
      const body = new FormData()
      body.set('file', file)
      const { path } = await client.request('POST', '/core/v1/context_files', { body })
      setAttached((current) => ({ ...current, contextFiles: [...current.contextFiles, { path, name: file.name }] }))
    } catch (error) {
      notifyFailure('The file was not added', error)
    } finally {
      setUploads((count) => count - 1)
    }
  }
  return { attached, change, addFiles, isUploading: uploads > 0, clear: () => setAttached(noAttachments) }
}
