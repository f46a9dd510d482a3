import type { CertificateView } from '@herald/client'
import { Modal } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { CertificateForm } from './certificate-form.tsx'

type Props = { opened: boolean; existing: CertificateView[]; onClose(): void }

/** Opens with a blank form each time, so that no secrets of the last one remain. */
export function CertificateDialog({ opened, existing, onClose }: Props) {
  const { t } = useTranslation()
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      size="lg"
      title={t('certificates.add')}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      <CertificateForm existing={existing} onClose={onClose} />
    </Modal>
  )
}
