import { useEffect, useState } from 'react'

export type Picture =
  | { state: 'none' | 'loading' | 'failed' }
  | { state: 'loaded'; width: number; height: number }

/** Loads a picture from its address, as phones do. */
export function usePicture(url: string): Picture {
  const [loaded, setLoaded] = useState<{ url: string; picture: Picture }>()
  useEffect(() => {
    if (url === '') return
    const image = new Image()
    image.referrerPolicy = 'no-referrer'
    image.onload = () =>
      setLoaded({
        url,
        picture: { state: 'loaded', width: image.naturalWidth, height: image.naturalHeight },
      })
    image.onerror = () => setLoaded({ url, picture: { state: 'failed' } })
    image.src = url
    return () => {
      image.onload = null
      image.onerror = null
    }
  }, [url])
  if (url === '') return { state: 'none' }
  return loaded?.url === url ? loaded.picture : { state: 'loading' }
}
