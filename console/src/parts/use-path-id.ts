import { useParams } from 'wouter'

/** An id in the address. The router leaves some escaped characters as they are, such as the colon that ids may have. */
export function usePathId(name: string): string | undefined {
  const value = useParams<Record<string, string | undefined>>()[name]
  try {
    return value === undefined ? undefined : decodeURIComponent(value)
  } catch {
    return value
  }
}
