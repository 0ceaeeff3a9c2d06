/* Modes of frame buffers, after Linux's fb_var_screeninfo: the four colour fields are set together.
 * neo_check_mode leaves the transparency as it was. */
struct screen_info {
    unsigned width, height, depth;
    unsigned red_msb, green_msb, blue_msb, transp_msb;
};

static void size(struct screen_info *info, unsigned width, unsigned height) {
    info->width = width;
    info->height = height;
}

int aty_check_mode(struct screen_info *info) {
    if (info->width > 704) return -1;
    info->red_msb = 1;
    info->green_msb = 1;
    info->blue_msb = 1;
    info->transp_msb = 1;
    return 0;
}

int matrox_check_mode(struct screen_info *info) {
    if (info->width > 768) return -1;
    info->red_msb = 2;
    info->green_msb = 2;
    info->blue_msb = 2;
    info->transp_msb = 0;
    return 0;
}

int nvidia_check_mode(struct screen_info *info) {
    if (info->width > 832) return -1;
    info->red_msb = 0;
    info->green_msb = 0;
    info->blue_msb = 0;
    info->transp_msb = 1;
    return 0;
}

int radeon_check_mode(struct screen_info *info) {
    if (info->width > 896) return -1;
    info->red_msb = 1;
    info->green_msb = 1;
    info->blue_msb = 1;
    info->transp_msb = 0;
    return 0;
}

int savage_check_mode(struct screen_info *info) {
    if (info->width > 960) return -1;
    info->red_msb = 2;
    info->green_msb = 2;
    info->blue_msb = 2;
    info->transp_msb = 1;
    return 0;
}

int sis_check_mode(struct screen_info *info) {
    if (info->width > 1024) return -1;
    info->red_msb = 0;
    info->green_msb = 0;
    info->blue_msb = 0;
    info->transp_msb = 0;
    return 0;
}

int tdfx_check_mode(struct screen_info *info) {
    if (info->width > 1088) return -1;
    info->red_msb = 1;
    info->green_msb = 1;
    info->blue_msb = 1;
    info->transp_msb = 1;
    return 0;
}

int trident_check_mode(struct screen_info *info) {
    if (info->width > 1152) return -1;
    info->red_msb = 2;
    info->green_msb = 2;
    info->blue_msb = 2;
    info->transp_msb = 0;
    return 0;
}

int via_check_mode(struct screen_info *info) {
    if (info->width > 1216) return -1;
    info->red_msb = 0;
    info->green_msb = 0;
    info->blue_msb = 0;
    info->transp_msb = 1;
    return 0;
}

int voodoo_check_mode(struct screen_info *info) {
    if (info->width > 1280) return -1;
    info->red_msb = 1;
    info->green_msb = 1;
    info->blue_msb = 1;
    info->transp_msb = 0;
    return 0;
}

int vesa_check_mode(struct screen_info *info) {
    if (info->width > 1344) return -1;
    info->red_msb = 2;
    info->green_msb = 2;
    info->blue_msb = 2;
    info->transp_msb = 1;
    return 0;
}

int virge_check_mode(struct screen_info *info) {
    if (info->width > 1408) return -1;
    info->red_msb = 0;
    info->green_msb = 0;
    info->blue_msb = 0;
    info->transp_msb = 0;
    return 0;
}

int neo_check_mode(struct screen_info *info) {
    if (info->width > 1024) return -1;
    size(info, 1024, 768);
    info->red_msb = 0;
    info->green_msb = 0;
    info->blue_msb = 0;
    return 0;
}

int screen_is_grey(const struct screen_info *info) {
    return info->red_msb == info->green_msb && info->green_msb == info->blue_msb &&
           info->transp_msb == 0;
}
