type PreviewKind = 'image' | 'page' | 'table' | 'json' | 'text' | 'none'

const textEndings = /\.(?:txt|md|log|ya?ml|toml|ini|py|js|ts|sql|sh|xml|css)$/i

/** How a file is shown, by its media type, or by its name where the type says nothing. */
export function previewOf(mediaType: string, fileName: string): PreviewKind {
  const type = mediaType.split(';')[0]!.trim().toLowerCase()
  if (/^image\/(?:png|jpeg|gif|webp|avif|svg\+xml)$/.test(type)) return 'image'
  if (type === 'text/html') return 'page'
  if (type === 'text/csv' || type === 'text/tab-separated-values') return 'table'
  if (type === 'application/json' || type.endsWith('+json')) return 'json'
  return type.startsWith('text/') || textEndings.test(fileName) ? 'text' : 'none'
}

/** A number of bytes: "512 B", "1.4 MB". */
export function formatSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  if (bytes < 1e6) return `${Number((bytes / 1e3).toPrecision(3))} KB`
  return bytes < 1e9 ? `${Number((bytes / 1e6).toPrecision(3))} MB` : `${Number((bytes / 1e9).toPrecision(3))} GB`
}
