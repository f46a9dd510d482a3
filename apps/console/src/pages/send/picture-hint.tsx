import { Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useTranslation } from 'react-i18next'
import type { Draft } from './draft.ts'
import { pictureUrl } from './preview-of.ts'
import { usePicture } from './use-picture.ts'

/** While an address is being typed, no parts of it are requested. */
const TYPING_MS = 600

/** Whether the picture can be loaded, and its size. */
export function PictureHint({ draft }: { draft: Draft }) {
  const { t } = useTranslation()
  const [url] = useDebouncedValue(pictureUrl(draft), TYPING_MS)
  const picture = usePicture(url)
  return (
    <>
      {t('send.attachmentHint')}
      {picture.state === 'failed' && (
        <Text span inherit c="var(--herald-warning)">
          {' '}
          {t('send.pictureFailed')}
        </Text>
      )}
      {picture.state === 'loaded' && ` ${t('send.pictureSize', picture)}`}
    </>
  )
}
