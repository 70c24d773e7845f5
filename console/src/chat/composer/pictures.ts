import { notifyFailure } from '../../parts/notify.ts'

/** Pictures that a question may have. */
export const maxPictures = 5
const maxBytes = 15_000_000
/** Pictures that models see. */
export const pictureTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']

export const isImage = ({ type }: File): boolean => type.startsWith('image/')

/** Reads at most `free` pictures as data URLs. What cannot be sent is said in passing, and left out. */
export async function readPictures(files: readonly File[], free: number): Promise<{ name: string; dataUrl: string }[]> {
  const pictures = files.filter(isPicture)
  if (pictures.length > free) notifyFailure('Too many pictures', new Error(`A question may have ${maxPictures} pictures.`))
  return Promise.all(pictures.slice(0, Math.max(0, free)).map(async (file) => ({ name: file.name, dataUrl: await toDataUrl(file) })))
}

function isPicture(file: File): boolean {
  const fault = !pictureTypes.includes(file.type)
    ? 'is not a PNG, JPEG, GIF or WebP picture'
    : file.size > maxBytes
      ? 'is larger than 15 MB'
      : undefined
  if (fault) notifyFailure('The file was not added', new Error(`${file.name} ${fault}.`))
  return fault === undefined
}

function toDataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(reader.result as string))
    reader.addEventListener('error', () => reject(reader.error ?? new Error('The file cannot be read.')))
    reader.readAsDataURL(file)
  })
}
