import type { CredentialField } from '@herald/channels/cards'
import { FileInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { readCertificateFile } from './read-file.ts'

type Props = { file: NonNullable<CredentialField['file']>; onRead(text: string): void }

/** Fills a field of the form from a file. */
export function FilePicker({ file, onRead }: Props) {
  const { t } = useTranslation()
  const [chosen, setChosen] = useState<File | null>(null)
  const [tooLarge, setTooLarge] = useState(false)
  return (
    <FileInput
      label={t('certificates.file')}
      description={t('certificates.fileHint')}
      placeholder={file.accept}
      accept={file.accept}
      value={chosen}
      clearable={false}
      error={tooLarge && t('certificates.fileTooLarge')}
      onChange={async (next) => {
        setChosen(next)
        if (!next) return
        const text = await readCertificateFile(next, file.as)
        setTooLarge(text === undefined)
        if (text !== undefined) onRead(text)
      }}
    />
  )
}
