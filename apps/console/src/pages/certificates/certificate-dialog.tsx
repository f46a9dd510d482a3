import type { CertificateView } from '@herald/client'
import { Modal } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { CertificateForm } from './certificate-form.tsx'

type Props = { opened: boolean; known: CertificateView[]; onClose(): void }

/** Each opening begins with a blank form: secrets of the last one must not linger. */
export function CertificateDialog({ opened, known, onClose }: Props) {
  const { t } = useTranslation()
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      size="lg"
      title={t('certificates.formTitle')}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      <CertificateForm known={known} onClose={onClose} />
    </Modal>
  )
}
